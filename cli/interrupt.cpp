#include "cli/interrupt.hpp"

namespace attnprof::cli {
namespace {

// A handler gets no argument of ours, so where it leaves its flag has to be found through something static.
std::atomic<Interrupt*> current{nullptr};
static_assert(std::atomic<Interrupt*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

extern "C" void remember_signal(int number) {
  Interrupt* const interrupt = current.load();
  if (interrupt == nullptr) {
    return;
  }
  interrupt->signal.store(number);
  interrupt->requested.store(true);
}

} // namespace

InterruptScope::InterruptScope(Interrupt& interrupt) {
  current.store(&interrupt);
  struct sigaction action {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  // Back to the default after the first one: who presses Ctrl-C twice wants out. Interrupted system calls go on.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, &previous_int_);
  sigaction(SIGTERM, &action, &previous_term_);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
  current.store(nullptr);
}

} // namespace attnprof::cli
