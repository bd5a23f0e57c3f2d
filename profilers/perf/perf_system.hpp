// The seam to perf_event_open(2) and to libpfm4's names of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// An event as the kernel wants it: fields of perf_event_attr.
struct EventCode {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  bool operator==(const EventCode&) const = default;
};

struct EncodedEvent {
  EventCode code;
  std::string full_name; ///< with processor and unit masks: what was really asked for (BUG-126)
};

struct OpenRequest {
  EventCode code;
  int thread = 0;             ///< kernel id; 0: the calling one
  int group = -1;             ///< file of the group's leader; -1: lead a new group, disabled at first
  bool exclude_kernel = true; ///< count user space only, which is what paranoid level 2 allows
  int processor = -1;         ///< count everything that goes through this one's socket instead of a thread
};

struct ControllerEvent;

class PerfSystem {
 public:
  virtual ~PerfSystem() = default;
  /// A file, or a negative errno.
  virtual int open(const OpenRequest& request) = 0;
  /// Starts or stops a whole group; 0 or a negative errno.
  virtual int start(int leader) = 0;
  virtual int stop(int leader) = 0;
  /// Value, enabled and running time as three 64-bit numbers: the bytes that were read, or a negative errno.
  virtual std::int64_t read(int file, std::span<std::byte> into) = 0;
  virtual void close(int file) = 0;
  /// Kernel ids of all threads of this process.
  virtual std::vector<int> threads() = 0;
  /// By its libpfm4 name, for the processor at hand; absent where the name is unknown there or libpfm4 was not built
  /// in.
  virtual std::optional<EncodedEvent> encode(const std::string& name) = 0;
  /// Length of Arm's scalable vectors; 0 where the processor has none.
  virtual int scalable_vector_bits() { return 0; }
  /// Counters of the memory controllers; empty where the system lists none.
  virtual std::vector<ControllerEvent> memory_controllers();
};

/// Linux. One object a process.
class LinuxPerfSystem final : public PerfSystem {
 public:
  int open(const OpenRequest& request) override;
  int start(int leader) override;
  int stop(int leader) override;
  std::int64_t read(int file, std::span<std::byte> into) override;
  void close(int file) override;
  std::vector<int> threads() override;
  std::optional<EncodedEvent> encode(const std::string& name) override;
  int scalable_vector_bits() override;
  std::vector<ControllerEvent> memory_controllers() override;

 private:
  std::optional<bool> names_ready_; ///< libpfm4 looks for the processor once
};

} // namespace attnprof::profilers
