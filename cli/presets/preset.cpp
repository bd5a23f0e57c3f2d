#include "cli/presets/preset.hpp"

#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/core/registry.hpp"
#include "operators/workload.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::cli {
namespace {

operators::Graph launches_of(const std::string& id) {
  const operators::Config config = operators::resolve(operators::parse_case_id(id));
  return operators::plan_launches(operators::build(config), config.text("plan"));
}

std::string figure_text(const PresetRow& row) {
  if (!row.ours) {
    return std::string(reports::kAbsentText);
  }
  if (row.unit == "s") {
    return reports::seconds(*row.ours);
  }
  const bool whole = *row.ours == std::round(*row.ours) && std::abs(*row.ours) < 1e15;
  std::string digits =
      whole ? fmt::format("{}", static_cast<std::int64_t>(*row.ours)) : fmt::format("{:.3f}", *row.ours);
  for (std::size_t i = whole ? digits.size() : 0; i > 3; i -= 3) {
    digits.insert(i - 3, digits[i - 4] == '-' ? "" : ",");
  }
  return row.unit == "1" ? digits : digits + " " + row.unit;
}

} // namespace

operators::Totals PresetFigures::totals(const std::string& id) const {
  return operators::cost_of(launches_of(id)).totals;
}
double PresetFigures::params(const std::string& id) const {
  return static_cast<double>(totals(id).params.value());
}
double PresetFigures::macs(const std::string& id) const {
  return static_cast<double>(totals(id).work.macs.value());
}

double PresetFigures::weights(const std::string& id, const std::vector<std::string>& names) const {
  operators::Count out = 0;
  for (const operators::Tensor& tensor : launches_of(id).tensors) {
    const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return tensor.name == name || tensor.name.ends_with("." + name);
    });
    if (named && tensor.role == operators::TensorRole::kWeight) {
      out += tensor.elements();
    }
  }
  return static_cast<double>(out.value());
}

double PresetFigures::attention_passes(const std::string& id) const {
  const operators::Graph launches = launches_of(id);
  return static_cast<double>(std::count_if(launches.ops.begin(), launches.ops.end(), [](const operators::Op& op) {
    return std::holds_alternative<operators::Softmax>(op.primitive) ||
           std::holds_alternative<operators::Attention>(op.primitive);
  }));
}

double PresetFigures::score_elements(const std::string& id) const {
  operators::Count out = 0;
  for (const operators::Op& op : operators::build(operators::resolve(operators::parse_case_id(id))).ops) {
    const auto* product = std::get_if<operators::MatMul>(&op.primitive);
    if (product != nullptr && product->mask_axes == operators::MatMul::MaskAxes::kRowsColumns) {
      out += product->c.elements();
    }
  }
  return static_cast<double>(out.value());
}

std::vector<std::optional<double>> PresetFigures::medians_s(const std::vector<std::string>& ids) const {
  std::vector<operators::Config> cases;
  for (const std::string& id : ids) {
    cases.push_back(operators::resolve(operators::parse_case_id(id)));
  }
  return measure_(cases);
}

std::optional<double> quotient(std::optional<double> other, std::optional<double> base) {
  return other && base && *base > 0.0 ? std::optional(*other / *base) : std::nullopt;
}

std::optional<double> crossing(const std::vector<std::int64_t>& sizes,
                               const std::vector<std::optional<double>>& ratios) {
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (!ratios[i] || !ratios[i + 1] || *ratios[i] < 1.0) {
      return std::nullopt;
    }
    const auto rest = ratios.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::all_of(rest, ratios.end(), [](const auto& ratio) { return ratio && *ratio < 1.0; })) {
      const double above = std::log(*ratios[i]);
      const double share = above / (above - std::log(*ratios[i + 1]));
      const double low = std::log(static_cast<double>(sizes[i]));
      return std::exp(low + share * (std::log(static_cast<double>(sizes[i + 1])) - low));
    }
  }
  return std::nullopt;
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = {group_params_preset(), sandwich_preset(), reallocation_preset(),
                                               kv_cache_preset(),     gau_preset(),      flash_crossover_preset(),
                                               skipat_phi_preset()};
  return kPresets;
}

const Preset& find_preset(const std::string& name) {
  std::vector<std::string> known;
  for (const Preset& preset : presets()) {
    if (preset.name == name) {
      return preset;
    }
    known.push_back(preset.name);
  }
  const std::string near = operators::nearest_name(name, known);
  throw operators::Error(operators::ErrorKind::kUsage,
                         fmt::format("--preset '{}' is not known{}; there are {}", name,
                                     near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
                                     fmt::join(known, ", ")));
}

std::string preset_table(const Preset& preset, const std::vector<PresetRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const PresetRow& row : rows) {
    cells.push_back({row.quantity, figure_text(row), row.origin == FigureOrigin::kCounted ? "counted" : "measured",
                     row.source.empty() ? std::string(reports::kAbsentText) : row.source, row.note});
  }
  using reports::Align;
  return fmt::format("{}\nsource: {}\n\n{}", preset.summary, preset.source,
                     reports::text_table({{"quantity", Align::kLeft},
                                          {"here"},
                                          {"", Align::kLeft},
                                          {"the source says", Align::kLeft},
                                          {"note", Align::kLeft}},
                                         cells));
}

} // namespace attnprof::cli
