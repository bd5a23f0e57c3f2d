// What is timed: launch lists of the executor, the limit each is held against, and the bars that the figures are for.
#pragma once

#include "bench/limits.hpp"
#include "bench/peer.hpp"
#include "operators/exec/executor.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::bench {

/// Where the figure of a bar comes from.
enum class Source {
  kLimit,    ///< share of the limit
  kSlowdown, ///< our time over the reference's
  kSpeedup,  ///< the reference's time over ours
  kBestPeer, ///< the best library's time over ours
};

struct Claim {
  std::string bar;
  Source source = Source::kLimit;
};

/// Another launch list of our own that is timed beside the case's.
struct Reference {
  std::string name;
  operators::Graph launches;
  operators::ExecOptions options;
};

struct Case {
  std::string name;
  operators::DType dtype = operators::DType::kF32;
  operators::Graph launches;
  operators::ExecOptions options;
  LimitKind limit = LimitKind::kFma;
  std::optional<Reference> reference;
  /// Its pointers are filled in from the tensors "a", "b", "c" and the output when the case is made ready.
  std::optional<PeerCase> peer;
  std::vector<Claim> claims;
};

/// Which cases a run takes.
struct CaseRequest {
  std::string isa;          ///< that the kernels run with
  std::string narrower_isa; ///< for the comparison of instruction sets; empty where there is none
  bool bf16 = false;        ///< the machine multiplies bf16 natively
  std::vector<int> threads; ///< 1, or 1 and 2
  bool small = false;       ///< shapes that take milliseconds, for tests of the benchmark itself
};

/// All cases, in the order of the bars.
std::vector<Case> make_cases(const CaseRequest& request);
std::vector<Case> product_cases(const CaseRequest& request);
std::vector<Case> attention_cases(const CaseRequest& request);
std::vector<Case> row_cases(const CaseRequest& request);

/// The fused core of one head, 64 wide.
operators::Graph fused_core(std::int64_t tokens);

/// Multiply-adds that count, or bytes that must cross the caches, of one run; FLOPs for compute limits.
double amount_of(const Case& which);

} // namespace attnprof::bench
