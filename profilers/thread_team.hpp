// Threads pinned to one processor each, started together and timed from the
// first start to the last end.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace attnprof::profilers {

class ThreadTeam {
 public:
  /// One thread for each processor of `cpus`. A processor that cannot be pinned
  /// to is run unpinned.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const;
  /// True when every thread stays on its processor.
  bool pinned() const;

  /// Runs `prepare(thread)` on every thread, waits for all, then
  /// `timed(thread)`; returns the seconds of the latter. Neither may throw.
  double run(const std::function<void(int)>& prepare, const std::function<void(int)>& timed);
  /// Whether the system took a thread off its processor during the timed part
  /// of the last run.
  bool was_disturbed() const;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

} // namespace attnprof::profilers
