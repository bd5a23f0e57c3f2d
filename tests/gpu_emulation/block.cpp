#include "tests/gpu_emulation/block.hpp"

#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace attnprof::tests::emulation {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kStackBytes = std::size_t{256} * 1024; // sanitizers make frames large

/// A thread leaves its last frame without returning from it: the sanitizer still guards what lay around its variables.
void forget_frames(std::byte* stack) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(stack, kStackBytes);
#else
  static_cast<void>(stack);
#endif
}

#if defined(__x86_64__)
// ucontext makes a system call for every switch, and a reduction over a warp takes hundreds of switches.
extern "C" void attnprof_switch_stack(void** save, void* load);
asm(R"(
.text
.type attnprof_switch_stack,@function
attnprof_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size attnprof_switch_stack,.-attnprof_switch_stack
)");

class Fiber {
 public:
  Fiber() : stack_(new std::byte[kStackBytes]) {}
  void prepare(void (*entry)()) {
    forget_frames(stack_.get());
    auto top = reinterpret_cast<std::uintptr_t>(stack_.get() + kStackBytes) & ~std::uintptr_t{15};
    auto* words = reinterpret_cast<void**>(top);
    *--words = nullptr;                        // where entry would return to: it never does
    *--words = reinterpret_cast<void*>(entry); // popped by ret
    for (int saved = 0; saved < 6; ++saved) {
      *--words = nullptr;
    }
    pointer_ = words;
  }
  void enter(void** scheduler) { attnprof_switch_stack(scheduler, pointer_); }
  void leave(void* scheduler) { attnprof_switch_stack(&pointer_, scheduler); }
  using Scheduler = void*;

 private:
  std::unique_ptr<std::byte[]> stack_;
  void* pointer_ = nullptr;
};
#else
class Fiber {
 public:
  using Scheduler = ucontext_t;
  Fiber() : stack_(new std::byte[kStackBytes]) {}
  void prepare(void (*entry)()) {
    forget_frames(stack_.get());
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStackBytes;
    makecontext(&context_, entry, 0);
  }
  void enter(ucontext_t* scheduler) { swapcontext(scheduler, &context_); }
  void leave(ucontext_t& scheduler) { swapcontext(&context_, &scheduler); }

 private:
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t context_{};
};
#endif

struct PendingCopy {
  void* to;
  const void* from;
  std::size_t bytes;
};
/// Of one thread: committed groups in order, then the open one.
struct Copies {
  std::deque<std::vector<PendingCopy>> groups;
  std::vector<PendingCopy> open;
};

enum class State { kReady, kAtBlock, kAtWarp, kDone };

struct Machine {
  Thread now;
  std::vector<Fiber> fibers;
  std::vector<State> states;
  std::vector<LaneValues> lanes;
  std::vector<Copies> copies;
  std::vector<std::byte> shared;
  Fiber::Scheduler scheduler{};
  const std::function<void()>* body = nullptr;
  std::exception_ptr fault;
  bool flat = false;
};

/// Fibers find their block here; there is one host thread.
Machine& machine() {
  static Machine one;
  return one;
}

void leave_as(State state) {
  Machine& m = machine();
  m.states[m.now.flat] = state;
  m.fibers[m.now.flat].leave(m.scheduler);
}

[[noreturn]] void enter_thread() {
  try {
    (*machine().body)();
  } catch (...) {
    machine().fault = std::current_exception(); // run_fibers, on its own stack, throws it on
  }
  leave_as(State::kDone);
  std::terminate();
}

void select(unsigned flat) {
  Thread& now = machine().now;
  now.flat = flat;
  const Dim3 dim = now.block_dim;
  now.thread = Dim3(flat % dim.x, flat / dim.x % dim.y, flat / (dim.x * dim.y));
}

void wait_at(State state) {
  if (machine().flat) {
    throw std::logic_error("a kernel that was launched as one without barriers reached a barrier");
  }
  leave_as(state);
}

/// Lets those of [begin, end) go on that wait as `state`, if all others of the range ended. True when any did.
bool release(State state, unsigned begin, unsigned end) {
  std::vector<State>& states = machine().states;
  unsigned waiting = 0;
  unsigned done = 0;
  for (unsigned i = begin; i < end; ++i) {
    waiting += states[i] == state ? 1 : 0;
    done += states[i] == State::kDone ? 1 : 0;
  }
  if (waiting == 0 || waiting + done < end - begin) {
    return false;
  }
  // A warp may lose lanes that returned early; a block that waits for threads which ended is undefined on a GPU.
  if (done > 0) {
    throw std::runtime_error("divergent barrier: " + std::to_string(waiting) + " threads wait and " +
                             std::to_string(done) + " have ended");
  }
  for (unsigned i = begin; i < end; ++i) {
    states[i] = State::kReady;
  }
  return true;
}

void run_fibers(unsigned threads) {
  Machine& m = machine();
  m.fibers.resize(std::max<std::size_t>(m.fibers.size(), threads));
  m.states.assign(threads, State::kReady);
  m.lanes.assign(threads, {});
  m.copies.assign(threads, {});
  for (unsigned i = 0; i < threads; ++i) {
    m.fibers[i].prepare(enter_thread);
  }
  while (true) {
    bool moved = false;
    unsigned done = 0;
    for (unsigned i = 0; i < threads; ++i) {
      if (m.states[i] == State::kReady) {
        select(i);
        m.fibers[i].enter(&m.scheduler);
        if (m.fault != nullptr) {
          std::rethrow_exception(std::exchange(m.fault, nullptr));
        }
        moved = true;
      }
      done += m.states[i] == State::kDone ? 1 : 0;
    }
    if (done == threads) {
      return;
    }
    for (unsigned begin = 0; begin < threads; begin += kWarp) {
      moved |= release(State::kAtWarp, begin, std::min(begin + kWarp, threads));
    }
    moved |= release(State::kAtBlock, 0, threads);
    if (!moved) {
      throw std::runtime_error("divergent barrier: threads wait for each other at different places");
    }
  }
}

} // namespace

const Thread& current() {
  return machine().now;
}
void wait_for_block() {
  wait_at(State::kAtBlock);
}
void wait_for_warp() {
  wait_at(State::kAtWarp);
}
void show(const LaneValues& values) {
  machine().lanes[machine().now.flat] = values;
  wait_for_warp();
}
const LaneValues& shown_by(unsigned lane) {
  return machine().lanes[machine().now.flat / kWarp * kWarp + lane];
}
std::byte* shared_memory() {
  return machine().shared.data();
}

void require_aligned(const void* address, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    throw std::runtime_error("misaligned address: a multiple of " + std::to_string(alignment) + " is needed");
  }
}
void copy_later(void* to, const void* from, std::size_t bytes) {
  require_aligned(to, bytes);
  require_aligned(from, bytes);
  machine().copies[machine().now.flat].open.push_back({to, from, bytes});
}
void commit_copies() {
  Copies& mine = machine().copies[machine().now.flat];
  mine.groups.push_back(std::move(mine.open));
  mine.open.clear();
}
void wait_for_copies(std::size_t open) {
  Copies& mine = machine().copies[machine().now.flat];
  for (; mine.groups.size() > open; mine.groups.pop_front()) {
    for (const PendingCopy& copy : mine.groups.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
  }
}

void run_grid(Dim3 grid, Dim3 block, std::size_t shared_bytes, bool flat, const std::function<void()>& body) {
  Machine& m = machine();
  m.body = &body;
  m.flat = flat;
  m.now.block_dim = block;
  m.now.grid_dim = grid;
  const unsigned threads = block.x * block.y * block.z;
  // A pattern that is no sensible number of any type: reading what no thread wrote must show.
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        m.now.block = Dim3(x, y, z);
        m.shared.assign(shared_bytes, std::byte{0xFF});
        if (!flat) {
          run_fibers(threads);
          continue;
        }
        for (unsigned i = 0; i < threads; ++i) {
          select(i);
          body();
        }
      }
    }
  }
}

} // namespace attnprof::tests::emulation
