// The bars that the kernels are held to: data, and the verdict on a figure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::bench {

/// What the machine must have for a bar to apply.
enum class Needs { kNothing, kAvx512, kBf16 };

struct Bar {
  std::string_view name;     ///< what rows refer to it by
  std::string_view text;     ///< what the figure is
  bool at_most;              ///< smaller is better
  double bar;                ///< what must be reached
  std::optional<double> aim; ///< what would be as good as the best seen anywhere
  Needs needs = Needs::kNothing;
};

/// All bars, in printing order. The figures are ratios of medians of one interleaved run.
std::span<const Bar> all_bars();
/// Throws operators::Error(kInternal) for a name that no bar has.
const Bar& find_bar(std::string_view name);

enum class BarVerdict { kOk, kShort, kNotApplicable };
/// ok, short or "not applicable here".
std::string_view name_of(BarVerdict verdict);
BarVerdict verdict_on(const Bar& bar, double figure);

/// The worst of several figures of one bar; absent without figures.
std::optional<double> worst_figure(const Bar& bar, std::span<const double> figures);

} // namespace attnprof::bench
