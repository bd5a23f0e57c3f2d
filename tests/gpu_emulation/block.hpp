// A block of GPU threads on the host: each thread is a fiber with a stack of its own, which runs until it reaches a
// barrier. One block runs at a time, so shared memory is one buffer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace attnprof::tests::emulation {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim3() = default;
  constexpr explicit Dim3(unsigned a, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

/// What every lane of a warp shows the others at an exchange.
struct LaneValues {
  std::uint32_t words[6] = {};
};

/// The thread that runs now.
struct Thread {
  Dim3 thread, block, block_dim, grid_dim;
  unsigned flat = 0; ///< in its block
};
const Thread& current();

/// Waits for all threads of the block, or of the warp. Throws, from run_grid, where some of them ended or wait
/// elsewhere: on a GPU that block would hang, or go on without them.
void wait_for_block();
void wait_for_warp();
/// What the lanes of this warp show after all of them have called show().
void show(const LaneValues& values);
const LaneValues& shown_by(unsigned lane);
std::byte* shared_memory();

/// Copies of this thread that are made when it waits for them, group by group, and not before. Throws where an address
/// is not aligned to the bytes that are copied.
void copy_later(void* to, const void* from, std::size_t bytes);
void commit_copies();
/// Makes the copies of all groups but the last `open`.
void wait_for_copies(std::size_t open);
void require_aligned(const void* address, std::size_t alignment);

/// Runs the body once per thread of each block. `flat`: the threads never wait, so they need no stacks of their own.
void run_grid(Dim3 grid, Dim3 block, std::size_t shared_bytes, bool flat, const std::function<void()>& body);

} // namespace attnprof::tests::emulation
