#include "operators/core/error.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

namespace baseline {
const cpu::KernelTable& kernel_table();
}
#ifdef ATTNPROF_HAS_X86_ISAS
namespace avx2 {
const cpu::KernelTable& kernel_table();
}
namespace avx512 {
const cpu::KernelTable& kernel_table();
}
#endif

namespace cpu {
namespace {

struct Candidate {
  const KernelTable& table;
  bool runnable;
};

/// Narrowest first. The tables are constants, so looking at one executes nothing of its instruction set but its
/// accessor.
std::vector<Candidate> candidates() {
  std::vector<Candidate> out;
  out.push_back({baseline::kernel_table(), true});
#ifdef ATTNPROF_HAS_X86_ISAS
  const bool has_avx2 = __builtin_cpu_supports("x86-64-v3") != 0;
  out.push_back({avx2::kernel_table(), has_avx2});
  const KernelTable& avx512_table = avx512::kernel_table();
  out.push_back({avx512_table, avx512_table.emulated ? has_avx2 : __builtin_cpu_supports("x86-64-v4") != 0});
#endif
  return out;
}

} // namespace

std::vector<std::string> runnable_isas() {
  std::vector<std::string> out;
  for (const Candidate& candidate : candidates()) {
    if (candidate.runnable) {
      out.emplace_back(candidate.table.isa);
    }
  }
  return out;
}

const KernelTable& select_kernels(const std::string& isa) {
  const std::vector<Candidate> all = candidates();
  std::vector<std::string> known;
  const KernelTable* widest = nullptr;
  for (const Candidate& candidate : all) {
    known.emplace_back(candidate.table.isa);
    if (candidate.runnable) {
      widest = &candidate.table;
    }
    if (isa == candidate.table.isa) {
      if (!candidate.runnable) {
        throw Error(ErrorKind::kUnsupported, fmt::format("this processor cannot run instruction set {}; it runs {}",
                                                         isa, fmt::join(runnable_isas(), ", ")));
      }
      return candidate.table;
    }
  }
  if (!isa.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("instruction set \"{}\" is unknown: this build knows {}", isa, fmt::join(known, ", ")));
  }
  return *widest;
}

} // namespace cpu
} // namespace attnprof::operators
