#pragma once
#include "operators/core/param.hpp"
#include "operators/exec/executor.hpp"
#include "operators/exec/reference.hpp"

#include <filesystem>

namespace attnprof::operators {

/// ‖out − ref‖₂ / ‖ref‖₂ of one tensor; infinite where a value is not finite.
double relative_l2(std::span<const float> out, std::span<const double> ref);

/// Relative error allowed against the float64 reference. f32: rounding of a few thousand additions; bf16 keeps 8
/// significant bits, so each stored intermediate adds about 2^-9, and a block has tens of them in sequence. f16 and the
/// factors of tf32 keep 11: 2^-12 each, and products of a whole block in sequence.
double tolerance_of(DType dtype, ProductMath math = ProductMath::kF32);

/// Largest relative_l2 over the outputs and caches of one run of `program`, prepared with `seed`, against the
/// reference.
double error_against_reference(Program& program, const Graph& launches, std::uint64_t seed);

/// Multiply-adds up to which the reference takes about a second.
inline constexpr std::int64_t kReferenceMacLimit = 60'000'000;

struct Verification {
  std::string name;
  bool passed = false;
  std::string detail; ///< "reference eager 3e-16, cpu fused 2e-07 ..." or the reason of the failure
};

/// Checks a golden file (schema attnprof.golden/1) on the reference and on each executor, in both plans. Throws
/// Error(kIo | kUsage) where the file cannot be read or holds a key that is not understood.
Verification verify_golden(const std::filesystem::path& file, const std::vector<const Executor*>& executors);

/// Checks one resolved configuration on each executor, in both plans, against the reference.
Verification verify_case(const Config& config, const std::vector<const Executor*>& executors);

/// Small configurations of every variant and layout, from the samples of their descriptors, resolved.
std::vector<Config> sample_cases();

} // namespace attnprof::operators
