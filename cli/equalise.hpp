// Sizes at which two workloads are alike in one respect: depth, FLOPs, parameters or latency. Pure.
#pragma once

#include "operators/core/param.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attnprof::cli {

enum class Equal {
  kDepth,   ///< residual sub-layers: mixers, FFNs and gated units
  kFlops,   ///< executed FLOPs
  kParams,  ///< elements of all weights
  kLatency, ///< measured time
};
std::string_view name_of(Equal equal);
/// Throws Error(kUsage) with the known names.
Equal equal_from(const std::string& text);

/// What is made equal, of a resolved configuration; absent where that configuration cannot exist or was not measured.
using Quantity = std::function<std::optional<double>(const operators::Config& resolved)>;

struct Equalised {
  operators::Config config; ///< resolved
  std::string knob;         ///< depth or dim
  std::int64_t before = 0;
  std::int64_t after = 0;
  double target = 0;
  double achieved = 0;
  /// Relative: 0.012 where 1.2 % too much was the nearest that whole sizes allow.
  [[nodiscard]] double mismatch() const { return achieved / target - 1; }
};

/// The same workload with another value of `knob` ("depth", or "dim" in steps of the number of heads): what follows
/// from the knob keeps following it. Throws Error(kInvalid | kUsage) where it cannot exist.
operators::Config with_knob(const operators::Config& resolved, const std::string& knob, std::int64_t value);
/// Steps of the knob: 1, or for dim the number of heads.
std::int64_t knob_step(const operators::Config& resolved, const std::string& knob);

/// The value of the knob whose quantity is nearest to `target` (as a ratio), given that the quantity grows with it:
/// doubling, then halving the bracket. Values that cannot exist are passed over. Absent where none can.
std::optional<Equalised> equalise(const operators::Config& resolved, const std::string& knob, double target,
                                  const Quantity& quantity);

/// The same for a quantity that costs time to get and is never exact: at most `most` evaluations along the power law of
/// the last two (of exponent 1 for depth and 2 for dim at first), and the best of what was seen.
std::optional<Equalised> equalise_measured(const operators::Config& resolved, const std::string& knob, double target,
                                           const Quantity& quantity, int most = 5);

/// Residual sub-layers by the scopes of the launches, "block0/mixer" and "block0/ffn"; a depthwise convolution in front
/// of an FFN belongs to it. Absent for a configuration that cannot be built.
std::optional<double> sublayers_of(const operators::Config& resolved);
std::optional<double> flops_of(const operators::Config& resolved);
std::optional<double> params_of(const operators::Config& resolved);

} // namespace attnprof::cli
