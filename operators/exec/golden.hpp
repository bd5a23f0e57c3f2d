#pragma once
#include "operators/core/param.hpp"

#include <filesystem>
#include <map>
#include <vector>

namespace attnprof::operators {

struct GoldenTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// A golden file: a configuration in flag names, tensors by name, and how far an output may be off.
struct GoldenCase {
  std::string name;
  Config config;                             ///< resolved, f32, plan eager
  std::map<std::string, GoldenTensor> given; ///< inputs and weights
  std::map<std::string, GoldenTensor> outputs;
  double tolerance_rel_l2 = 0.0;
};

/// Throws Error(kIo) where the file cannot be read, Error(kUsage) where it is not in the format.
GoldenCase read_golden(const std::filesystem::path& file);

} // namespace attnprof::operators
