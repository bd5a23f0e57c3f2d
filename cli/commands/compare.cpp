#include "cli/case_runner.hpp"
#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/gate.hpp"
#include "cli/interleave.hpp"
#include "cli/machine_store.hpp"
#include "cli/options.hpp"
#include "cli/presets/preset.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/console.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;
using profilers::Status;

/// Programs of all cases are in memory at once.
constexpr std::size_t kMostInterleaved = 64;

reports::ResultSet load(const std::string& path, Context& context) {
  reports::ResultSet out = reports::load_results(*context.seams.files, path);
  for (const std::string& note : out.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  return out;
}

/// Every later run against the first one. Returns the lowest code that is not 0: 3 before 4 before 5 before 6.
int compare_runs(const Arguments& arguments, Context& context) {
  const GateOptions options = gate_request(arguments);
  const std::vector<std::string>& paths = arguments.positionals();
  if (paths.size() < 2 || !axes_from(arguments).empty()) {
    throw Error(ErrorKind::kUsage, paths.size() < 2
                                       ? "compare takes two or more run folders or files, the earlier one first"
                                       : "compare takes run folders or workload flags, not both");
  }
  const reports::ResultSet before = load(paths.front(), context);
  if (before.records.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' holds no records to compare with", paths.front()));
  }
  int worst = kExitOk;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const reports::ResultSet after = load(paths[i], context);
    if (before.machine && after.machine && before.machine->fingerprint != after.machine->fingerprint) {
      context.err << fmt::format("attnprof: {} and {} are of different machines or builds, so a change may be theirs\n",
                                 paths.front(), paths[i]);
    }
    const std::vector<RowChange> rows = compare_records(before.records, after.records, options);
    if (arguments.given("--json")) {
      context.out << reports::json_text(change_json(rows, options), 1) << '\n';
    } else {
      context.out << (paths.size() > 2 ? paths[i] + "\n" : "")
                  << change_table(rows, before.records, after.records, options);
    }
    int code = gate_exit_code(rows, options);
    if (code == kExitOk && options.fail_on_implausible) {
      code = implausible_exit_code(after.records, context.err);
    }
    worst = worst == kExitOk ? code : code == kExitOk ? worst : std::min(worst, code);
  }
  return worst;
}

std::string flops_ratio(const Record& base, const Record& other) {
  const double flops = static_cast<double>(base.totals->work.flops().value());
  return flops > 0 ? fmt::format("{:.2f}", static_cast<double>(other.totals->work.flops().value()) / flops)
                   : std::string(reports::kAbsentText);
}

/// One line a case of the group, against its first.
void print_group(const std::vector<std::size_t>& group, const std::vector<Record>& records, const RoundMedians& rounds,
                 std::ostream& out) {
  std::vector<Record> members;
  for (const std::size_t i : group) {
    members.push_back(records[i]);
  }
  const std::vector<std::string> names = reports::short_names(members);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Record& record = members[i];
    const std::string time = record.measured ? reports::seconds(record.measured->time_median_s) : "-";
    std::vector<std::string> row{names[i], time, "-", "-", "-", record.reason.empty() ? "base" : record.reason};
    const auto ratio = paired_ratio(rounds.medians_s[group.front()], rounds.medians_s[group[i]]);
    if (i > 0 && ratio) {
      row[2] = fmt::format("{:.3f}", ratio->ratio);
      row[3] = ratio->interval ? fmt::format("{:.3f}..{:.3f}", ratio->interval->low, ratio->interval->high) : "-";
      row[4] = flops_ratio(members.front(), record);
      row[5] = verdict_of(*ratio);
    }
    rows.push_back(std::move(row));
  }
  using reports::Align;
  out << reports::text_table({{"case", Align::kLeft},
                              {"median"},
                              {"time ratio"},
                              {"95 % interval"},
                              {"FLOP ratio"},
                              {"verdict", Align::kLeft}},
                             rows)
      << '\n';
}

void print_groups(const std::vector<std::vector<std::size_t>>& groups, const std::vector<Record>& records,
                  const RoundMedians& rounds, std::ostream& out) {
  for (const std::vector<std::size_t>& group : groups) {
    if (groups.size() > 1) {
      out << fmt::format("plan {}\n", records[group.front()].config.text("plan"));
    }
    print_group(group, records, rounds, out);
  }
  // Which case is faster stands in the table, from ratios that were paired round by round.
  out << reports::bounds_sentence(records) << '\n';
}

SweepPlan interleaved_plan(const Arguments& arguments) {
  PlanRequest request = plan_request(arguments);
  request.default_axes = {both_plans()};
  if (!chooses_workload(request)) {
    throw Error(ErrorKind::kUsage, "compare takes two run folders, or workloads such as --variant mha,cga");
  }
  SweepPlan plan = plan_sweep(request);
  if (plan.cases.size() < 2 || plan.cases.size() > kMostInterleaved) {
    throw Error(ErrorKind::kUsage,
                fmt::format("compare measures 2 to {} cases in turns, and this is {}: {}", kMostInterleaved,
                            plan.cases.size(),
                            plan.cases.size() < 2 ? "give a list, such as --variant mha,cga" : "use sweep"));
  }
  return plan;
}

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

int compare_workloads(const Arguments& arguments, Context& context) {
  refuse_flags(arguments, {gate_options()}, "workloads measured in turns; they gate two run folders");
  const SweepPlan plan = interleaved_plan(arguments);
  const MeasuringRequest measuring = measuring_request(arguments);
  require_a_device(plan, context.seams);
  const profilers::Machine machine = measured_machine(arguments, context);
  const InterruptScope scope(*context.seams.interrupt);
  CaseRunner runner(context.seams, measuring, &machine);
  std::vector<PreparedCase> cases;
  for (const PlannedCase& planned : plan.cases) {
    context.err << "attnprof: preparing " << planned.id << '\n';
    cases.push_back(runner.prepare(planned));
  }
  context.err << fmt::format("attnprof: measuring {} cases in turns\n", cases.size());
  const RoundMedians rounds = measure_interleaved(cases, measuring, context.seams);
  std::vector<Record> records;
  for (PreparedCase& prepared : cases) {
    if (context.seams.interrupt->requested) {
      prepared.record.status = Status::kSkipped;
      prepared.record.reason = kInterruptedReason;
      prepared.record.measured.reset();
    } else if (prepared.record.measured) {
      runner.explain(prepared, measuring.timing.timeout_s);
    }
    records.push_back(std::move(prepared.record));
  }
  if (arguments.given("--json")) {
    context.out << reports::json_text(reports::cases_document(records), 1) << '\n';
  } else {
    print_groups(comparison_groups(plan.cases), records, rounds, context.out);
  }
  name_rows(records, arguments.given("--json"), context.err);
  return rows_exit_code(records, *context.seams.interrupt);
}

/// Medians of cases measured in turns; a case that cannot run says so on stderr and has none.
std::vector<std::optional<double>> medians_in_turns(const std::vector<operators::Config>& configs,
                                                    const MeasuringRequest& measuring, Context& context) {
  CaseRunner runner(context.seams, measuring, nullptr);
  std::vector<PreparedCase> cases;
  for (const operators::Config& config : configs) {
    cases.push_back(runner.prepare({operators::case_id(config), config, ""}));
  }
  context.err << fmt::format("attnprof: measuring {} cases in turns\n", cases.size());
  (void)measure_interleaved(cases, measuring, context.seams);
  std::vector<std::optional<double>> out;
  for (const PreparedCase& one : cases) {
    if (one.record.status != Status::kOk) {
      context.err << fmt::format("attnprof: {}: {}\n", one.record.id, one.record.reason);
    }
    out.push_back(one.record.measured ? one.record.measured->time_median_s : std::nullopt);
  }
  return out;
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
  refuse_flags(arguments, {gate_options(), selection_options(), {hardware_option()}},
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
  return paths.empty() || ids ? compare_workloads(arguments, context) : compare_runs(arguments, context);
}

} // namespace

Command compare_command() {
  Command out;
  out.name = "compare";
  out.summary = "two runs row by row as a gate, or workloads measured in turns (A B B A)";
  out.usage = "EARLIER LATER... | WORKLOAD... | --preset NAME";
  out.positional = "run folder, run file or case id";
  out.options =
      joined({workload_options(),
              selection_options(),
              measuring_options(),
              {{"--preset", "", "NAME", "a comparison that a paper makes (list presets)", OptionGroup::kOutput},
               {"--json", "", "", "print changes or cases as JSON", OptionGroup::kOutput},
               hardware_option()},
              gate_options()});
  out.examples = {"compare before after --threshold 5% --fail-on regress,missing,fail",
                  "compare --layout sandwich,standard --variant mha --grid 14x14 --dim 192 --heads 4"};
  out.run = compare;
  return out;
}

} // namespace attnprof::cli
