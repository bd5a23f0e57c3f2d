#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Kernel times from CUPTI's activity records, attributed to launches by external correlation ids.
namespace attnprof::profilers::cuda {

/// What the records say, as plain values.
struct ActivityLog {
  struct KernelRecord {
    std::string name;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint32_t correlation = 0;
  };
  std::vector<KernelRecord> kernels; ///< fills and copies of memory too
  /// The API call of this correlation id was made under this external id.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> links;
  std::int64_t dropped = 0;
  std::int64_t unknown = 0; ///< records of other kinds
};

/// Appends the records of one buffer; needs no driver.
void decode_activity(std::uint8_t* buffer, std::size_t valid_bytes, ActivityLog& log);

/// External id of a launch; 0 is nobody's.
constexpr std::uint64_t external_id(std::size_t launch) {
  return launch + 1;
}

/// Kernels in order of their begin, each with the launch that it belongs to; records without a time are counted and
/// left out.
operators::gpu::ActivityReport join_activity(const ActivityLog& log);

/// Collects records of this process; the device must have a current context.
class ActivitySession {
 public:
  ActivitySession();
  ~ActivitySession();
  ActivitySession(const ActivitySession&) = delete;
  ActivitySession& operator=(const ActivitySession&) = delete;

  /// Why there are no records; empty where there are.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  void begin_launch(std::size_t launch);
  void end_launch();
  /// The device must be idle. Ends the session.
  operators::gpu::ActivityReport finish();

 private:
  void disable();
  std::string refusal_;
  bool enabled_ = false;
};

} // namespace attnprof::profilers::cuda
