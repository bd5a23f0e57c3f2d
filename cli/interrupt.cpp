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
  int none = 0;
  if (interrupt->signal.compare_exchange_strong(none, number)) {
    interrupt->requested.store(true);
    return;
  }
  // Who asks twice, in whatever way, wants out: the default action strikes as soon as this handler returns.
  std::signal(number, SIG_DFL);
  std::raise(number);
}

} // namespace

InterruptScope::InterruptScope(Interrupt& interrupt) {
  current.store(&interrupt);
  struct sigaction action {};
  action.sa_handler = remember_signal;
  // Neither signal interrupts the handler of the other.
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &previous_int_);
  sigaction(SIGTERM, &action, &previous_term_);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
  current.store(nullptr);
}

} // namespace attnprof::cli
