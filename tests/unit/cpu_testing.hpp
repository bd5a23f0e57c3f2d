// Runs small launch lists on the CPU executor and compares them with the float64 reference loops.
#pragma once
#include "operators/core/builder.hpp"
#include "operators/exec/executor.hpp"
#include "operators/exec/reference.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace attnprof::tests {

struct CpuSetting {
  std::string isa;
  int threads;
  operators::Products products = operators::Products::kByRule;
};

/// Every instruction set that this machine runs, on one worker, two, and more than its inputs divide by.
inline std::vector<CpuSetting> cpu_settings() {
  std::vector<CpuSetting> out;
  for (const std::string& isa : operators::cpu::runnable_isas()) {
    for (const int threads : {1, 2, 3}) {
      out.push_back({isa, threads, operators::Products::kByRule});
    }
  }
  return out;
}

inline double distance(double value, double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference))) {
    return 0.0;
  }
  const double out = std::abs(value - reference) / std::max(1.0, std::abs(reference));
  return std::isnan(out) ? INFINITY : out;
}

/// Largest error of any output or cache element, relative to max(1, |reference|).
inline double worst_error(const operators::Graph& graph, const CpuSetting& setting) {
  constexpr std::uint64_t kSeed = 7;
  const auto program =
      operators::make_cpu_executor()->prepare(graph, {setting.threads, setting.isa, kSeed, setting.products});
  program->run();
  const operators::TensorValues expected = operators::run_reference(graph, operators::reference_inputs(graph, kSeed));
  double worst = 0.0;
  for (const auto& [id, values] : expected) {
    const std::vector<float> got = program->read(id);
    if (got.size() != values.size()) {
      return INFINITY;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, distance(static_cast<double>(got[i]), values[i]));
    }
  }
  return worst;
}

/// What storing in the dtype may add to results of about one: half a unit in the last place of bf16 is 2^-9.
inline double tolerance(operators::DType dtype) {
  return dtype == operators::DType::kBf16 ? 4.5e-3 : 4e-6;
}

inline void check_everywhere(const operators::Graph& graph, double allowed) {
  for (const CpuSetting& setting : cpu_settings()) {
    INFO(setting.isa << " threads " << setting.threads);
    CHECK(worst_error(graph, setting) <= allowed);
  }
}

} // namespace attnprof::tests
