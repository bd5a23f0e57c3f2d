// Loops that reach one limit of the machine, as contestants beside the kernels.
#pragma once

#include "bench/sampler.hpp"
#include "operators/exec/threads.hpp"
#include "profilers/mapped_buffer.hpp"
#include "profilers/probe_kernels.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::bench {

enum class LimitKind { kFma, kBf16, kCopy, kRead };
/// FMA, bf16 dot, copy or read.
std::string_view name_of(LimitKind kind);

/// A loop and what one run of it does: FLOPs, or bytes read plus written.
struct Limit {
  LimitKind kind = LimitKind::kFma;
  double amount = 0;
  std::function<void()> run;
};

/// The limits of the instruction set that the kernels run with, on the same threads as the kernels.
class Limits {
 public:
  /// `isa` is one of operators::cpu::runnable_isas().
  explicit Limits(const std::string& isa);

  /// `bytes`: of the copy, read plus written; of the read, at least. What lies in DRAM takes the faster of plain and
  /// non-temporal stores. Absent where the machine has no such unit.
  std::optional<Limit> make(LimitKind kind, int threads, std::int64_t bytes);
  /// The threads that a limit runs on; they live as long as this.
  const operators::ThreadTeam& team(int threads);

 private:
  Limit compute(const profilers::ComputeProbe& probe, LimitKind kind, int threads);
  Limit copy(int threads, std::int64_t bytes);
  Limit read(int threads, std::int64_t bytes);
  float* memory(std::int64_t bytes);
  const profilers::ComputeProbe* find(std::string_view unit) const;

  const profilers::ProbeTable* table_;
  std::map<int, std::unique_ptr<operators::ThreadTeam>> teams_;
  profilers::MappedBuffer memory_;
};

} // namespace attnprof::bench
