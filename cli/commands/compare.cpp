#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/machine_store.hpp"
#include "cli/options.hpp"
#include "cli/presets/preset.hpp"
#include "cli/run_comparison.hpp"
#include "cli/turns.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

/// Refuses flags that would have no effect: a gate that nothing feeds cannot fail.
void refuse_flags(const Arguments& arguments, const std::vector<std::vector<OptionSpec>>& groups,
                  std::string_view why) {
  for (const std::vector<OptionSpec>& group : groups) {
    for (const OptionSpec& one : group) {
      if (arguments.given(one.name)) {
        throw Error(ErrorKind::kUsage, fmt::format("{} does not apply to {}: leave it out", one.name, why));
      }
    }
  }
}

reports::Json preset_json(const Preset& preset, const std::vector<PresetRow>& rows) {
  reports::Json list = reports::Json::array();
  for (const PresetRow& row : rows) {
    list.push_back({{"quantity", row.quantity},
                    {"value", row.ours ? reports::Json(*row.ours) : reports::Json()},
                    {"unit", row.unit},
                    {"origin", row.origin == FigureOrigin::kCounted ? "counted" : "measured"},
                    {"source_says", row.source.empty() ? reports::Json() : reports::Json(row.source)},
                    {"note", row.note.empty() ? reports::Json() : reports::Json(row.note)}});
  }
  return {{"preset", preset.name}, {"summary", preset.summary}, {"source", preset.source}, {"rows", list}};
}

int compare_preset(const Arguments& arguments, Context& context) {
  const Preset& preset = find_preset(*arguments.text("--preset"));
  refuse_flags(arguments,
               {gate_options(), gate_view_options(), selection_options(), turn_options(), {hardware_option()}},
               "--preset, which names its cases itself and compares them with a paper");
  if (!arguments.positionals().empty() || !axes_from(arguments).empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--preset {} names its cases itself: leave out run folders, case ids and "
                            "workload flags",
                            preset.name));
  }
  const MeasuringRequest measuring = measuring_request(arguments);
  const InterruptScope scope(*context.seams.interrupt);
  const PresetFigures figures(
      [&](const std::vector<operators::Config>& configs) { return medians_in_turns(configs, measuring, context); });
  const std::vector<PresetRow> rows = preset.rows(figures);
  context.out << (arguments.given("--json") ? reports::json_text(preset_json(preset, rows), 1) + "\n"
                                            : preset_table(preset, rows));
  const bool all = std::all_of(rows.begin(), rows.end(), [](const PresetRow& row) { return row.ours.has_value(); });
  return all ? kExitOk : kExitRowFailed;
}

int compare(const Arguments& arguments, Context& context) {
  if (arguments.given("--preset")) {
    return compare_preset(arguments, context);
  }
  const std::vector<std::string>& paths = arguments.positionals();
  const bool ids = std::all_of(paths.begin(), paths.end(), [&](const std::string& text) {
    return operators::looks_like_case_id(text) && !context.seams.files->is_directory(text);
  });
  if (paths.empty() || ids) {
    return compare_workloads(arguments, context);
  }
  refuse_flags(arguments, {turn_options()}, "two run folders, only to workloads measured in turns");
  return compare_runs(arguments, context);
}

} // namespace

Command compare_command() {
  Command out;
  out.name = "compare";
  out.summary = "two runs row by row as a gate, or workloads measured in turns (A B B A)";
  out.usage = "EARLIER LATER... | WORKLOAD... | --preset NAME";
  out.positional = "run folder, run file or case id";
  out.options = joined({workload_options(),
                        selection_options(),
                        measuring_options(),
                        {{"--preset", "", "NAME", "of papers (list presets)", OptionGroup::kOutput},
                         {"--json", "", "", "print as JSON", OptionGroup::kOutput},
                         hardware_option()},
                        turn_options(),
                        {{"--noise-run", "", "RUN", "earlier build, run again", OptionGroup::kGate}},
                        gate_options(),
                        gate_view_options()});
  out.examples = {"compare before after --threshold 5% --fail-on regress,missing,fail",
                  "compare --layout sandwich,standard --variant mha --grid 14x14 --dim 192 --heads 4"};
  out.run = compare;
  return out;
}

} // namespace attnprof::cli
