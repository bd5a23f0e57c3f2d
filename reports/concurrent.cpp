#include "reports/concurrent.hpp"

#include "operators/exec/threads.hpp"

namespace attnprof::reports {

int usable_threads() {
  static const int kThreads = std::max(1, static_cast<int>(operators::usable_processors().size()));
  return kThreads;
}

} // namespace attnprof::reports
