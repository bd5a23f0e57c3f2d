// Comparisons that papers make, as one command each: their figure beside the one counted or measured here.
#pragma once

#include "operators/core/cost.hpp"
#include "operators/core/param.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

enum class FigureOrigin { kCounted, kMeasured };

/// One line of a preset's table.
struct PresetRow {
  std::string quantity;       ///< "parameters of q, k and v, 4 heads of 16: multi-head"
  std::optional<double> ours; ///< absent where it was not measured
  std::string unit;           ///< "1" for a ratio
  FigureOrigin origin = FigureOrigin::kCounted;
  std::string source; ///< what the source says, as it says it; empty: nothing
  std::string note;   ///< where both differ, why
};

/// What a preset asks of the program. Ids need not be resolved.
class PresetFigures {
 public:
  /// Medians in seconds of cases that are measured in turns, absent for one that failed.
  using Measure = std::function<std::vector<std::optional<double>>(const std::vector<operators::Config>&)>;
  explicit PresetFigures(Measure measure) : measure_(std::move(measure)) {}

  [[nodiscard]] operators::Totals totals(const std::string& id) const;
  [[nodiscard]] double params(const std::string& id) const;
  [[nodiscard]] double macs(const std::string& id) const;
  /// Elements of the weights whose names end in one of these.
  [[nodiscard]] double weights(const std::string& id, const std::vector<std::string>& names) const;
  /// Launches of a softmax or a fused attention core.
  [[nodiscard]] double attention_passes(const std::string& id) const;
  /// Entries of all score matrices, as the eager plan stores them.
  [[nodiscard]] double score_elements(const std::string& id) const;
  [[nodiscard]] std::vector<std::optional<double>> medians_s(const std::vector<std::string>& ids) const;

 private:
  Measure measure_;
};

/// other / base where both are there.
std::optional<double> quotient(std::optional<double> other, std::optional<double> base);

/// Where a ratio that was taken at rising sizes falls below 1: the size between the last two, interpolated in the
/// logarithms of both; absent where it never does for good, where it starts below 1, or where a ratio is missing.
std::optional<double> crossing(const std::vector<std::int64_t>& sizes,
                               const std::vector<std::optional<double>>& ratios);

struct Preset {
  std::string name;
  std::string summary;
  std::string source;
  std::vector<PresetRow> (*rows)(const PresetFigures& figures) = nullptr;
};

/// All presets, in the order of the sources.
const std::vector<Preset>& presets();
/// Throws Error(kUsage) that names the nearest and all known ones.
const Preset& find_preset(const std::string& name);

/// The table for people.
std::string preset_table(const Preset& preset, const std::vector<PresetRow>& rows);

// One file each in this folder.
Preset group_params_preset();
Preset sandwich_preset();
Preset reallocation_preset();
Preset gau_preset();
Preset flash_crossover_preset();
Preset skipat_phi_preset();
Preset kv_cache_preset();

} // namespace attnprof::cli
