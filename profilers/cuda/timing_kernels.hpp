#pragma once
#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace attnprof::profilers::cuda {

/// Keeps the stream waiting until the host writes something other than 0 to `released`, or `most_ns` are over: work
/// that is started behind it then begins without gaps of the host. Both live in memory that the host and the device
/// see; `expired` becomes 1 where the time ran out.
void start_gate(volatile std::int32_t* released, volatile std::int32_t* expired, std::int64_t most_ns,
                CUstream_st* stream);

// Loops that reach the ceilings of a device. Each returns the work that it starts: multiply-adds, exponentials, bytes.
// `sink` takes results that nobody reads, so that no compiler leaves the loop out.
std::int64_t start_multiply_adds(std::byte* sink, int blocks, CUstream_st* stream);
std::int64_t start_exponentials(std::byte* sink, int blocks, CUstream_st* stream);
std::int64_t start_reads(const std::byte* from, std::int64_t bytes, std::byte* sink, int blocks, CUstream_st* stream);
void start_copy(std::byte* to, const std::byte* from, std::int64_t bytes, CUstream_st* stream);
/// Small pseudo-random bf16 and f16 values: no zeros, no infinities.
void start_fill(std::byte* to, std::int64_t bytes, CUstream_st* stream);

} // namespace attnprof::profilers::cuda
