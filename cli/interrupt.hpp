// SIGINT and SIGTERM as a flag, so that a sweep ends between two cases and keeps what it has (BUG-167).
#pragma once

#include <atomic>
#include <csignal>

namespace attnprof::cli {

/// What a signal leaves behind.
struct Interrupt {
  std::atomic<bool> requested{false};
  std::atomic<int> signal{0}; ///< which one
};

/// While it lives, the first SIGINT or SIGTERM only sets the flag; a second one of
/// either kind ends the process. One at a time.
class InterruptScope {
 public:
  explicit InterruptScope(Interrupt& interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction previous_int_ {};
  struct sigaction previous_term_ {};
};

} // namespace attnprof::cli
