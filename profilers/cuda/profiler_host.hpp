#pragma once
#include <cupti_profiler_host.h>
#include <string>
#include <vector>

namespace attnprof::profilers::cuda {

/// A host object of CUPTI's profiler for one chip.
class ProfilerHost {
 public:
  /// Throws operators::Error(kUnavailable).
  explicit ProfilerHost(const std::string& chip);
  ~ProfilerHost();
  ProfilerHost(const ProfilerHost&) = delete;
  ProfilerHost& operator=(const ProfilerHost&) = delete;
  [[nodiscard]] CUpti_Profiler_Host_Object* get() const { return object_; }

 private:
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

/// Throws operators::Error(kUnavailable) with the meaning of the code.
void require_cupti(CUptiResult code, const char* call);
/// The names as CUPTI takes them; they live as long as the strings.
std::vector<const char*> pointers_of(const std::vector<std::string>& names);

} // namespace attnprof::profilers::cuda
