#include "cli/case_runner.hpp"
#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/machine_store.hpp"
#include "cli/options.hpp"
#include "cli/rows.hpp"
#include "cli/run_comparison.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_manifest.hpp"
#include "cli/sweep_loop.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"
#include "reports/result_set.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;
using profilers::Status;

/// Beside what the measurement itself may take: building, filling, packing, verifying, and a slow start.
constexpr double kIsolatedTimeoutMultiple = 4.0;
constexpr double kIsolatedExtraS = 120.0;

/// What a sweep of which nothing was asked may take, the first measurement of the machine included.
constexpr double kDefaultSweepS = 60;
/// The machine is measured first, but cases need some time too.
constexpr double kLeastSharedS = 30;
/// Of which a check against the reference takes a fraction of the share of a case.
constexpr std::int64_t kQuickCheckMacs = 8'000'000;

void drop_default(PlanRequest& request, std::string_view given, std::string_view dropped) {
  const auto is_given = [&](const Axis& axis) { return axis.name == given; };
  if (std::any_of(request.axes.begin(), request.axes.end(), is_given)) {
    std::erase_if(request.default_axes, [&](const Axis& axis) { return axis.name == dropped; });
  }
}

SweepPlan plan_of(PlanRequest request) {
  request.default_axes = {both_plans()};
  if (!chooses_workload(request)) {
    request.default_axes = default_sweep_axes();
    drop_default(request, "seq_len", "grid");
    drop_default(request, "heads", "kv_heads");
  }
  return plan_sweep(request);
}

/// Nothing was said about how long it may take: the cases share a minute.
bool shares_a_minute(const Arguments& arguments) {
  constexpr std::array kTimes = {"--budget", "--timeout",   "--min-time", "--repetitions",
                                 "--warmup", "--max-noise", "--isolate",  "--cache"};
  return !chooses_workload(plan_request(arguments)) &&
         std::none_of(kTimes.begin(), kTimes.end(), [&](const char* flag) { return arguments.given(flag); });
}

bool keeps_going(const Arguments& arguments) {
  const std::string text = arguments.text("--keep-going").value_or("true");
  if (text != "true" && text != "false") {
    throw Error(ErrorKind::kUsage, fmt::format("--keep-going '{}' is not valid: give true or false", text));
  }
  return text == "true";
}

/// One line a case: what it would cost. No case is run.
int print_plan(const SweepPlan& plan, const std::optional<profilers::Machine>& machine, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  std::optional<reports::RoofTable> roofs;
  if (machine) {
    roofs.emplace(*machine);
  }
  for (const PlannedCase& planned : plan.cases) {
    try {
      Record record = cost_case(planned).record;
      if (roofs) {
        reports::predict(record, roofs->roofs_for(record));
      }
      const operators::Totals& totals = *record.totals;
      rows.push_back({reports::si(static_cast<double>(totals.work.flops().value()), "FLOP"),
                      reports::si(static_cast<double>(totals.bytes_read.value() + totals.bytes_written.value()), "B"),
                      reports::seconds(record.roof.roof_time_s), planned.id});
    } catch (const Error& error) {
      rows.push_back({"-", "-", "-", fmt::format("{} (invalid: {})", planned.id, error.what())});
    }
  }
  out << reports::text_table({{"work"}, {"traffic"}, {"at least"}, {"case", reports::Align::kLeft}}, rows);
  out << fmt::format("{} case{}", plan.cases.size(), plan.cases.size() == 1 ? "" : "s");
  out << (plan.other_shards > 0 ? fmt::format(", {} more in other shards", plan.other_shards) : std::string());
  out << (plan.merged > 0 ? fmt::format(", {} combinations were equal to others", plan.merged) : std::string());
  out << (plan.deselected > 0 ? fmt::format(", {} left out by --where and --filter", plan.deselected) : std::string());
  out << "; nothing was run\n";
  return kExitOk;
}

/// The measuring flags as they were given, for a case in a process of its own.
std::vector<std::string> forwarded(const Arguments& arguments, const std::filesystem::path& machine_file) {
  std::vector<std::string> out = {"--hw", machine_file.string()};
  for (const OptionSpec& option : measuring_options()) {
    if (const auto text = arguments.text(option.name)) {
      out.push_back(option.name + "=" + *text);
    }
  }
  return out;
}

MeasureCase measure_of(const Arguments& arguments, const MeasuringRequest& measuring, CaseRunner& runner,
                       const RunFolder& folder, Seams& seams) {
  if (!arguments.given("--isolate")) {
    return
        [&runner](const PlannedCase& planned, std::optional<double> share_s) { return runner.run(planned, share_s); };
  }
  const double timeout_s = measuring.timing.timeout_s * kIsolatedTimeoutMultiple + kIsolatedExtraS;
  return [args = forwarded(arguments, folder.path / "machine.json"), timeout_s,
          &seams](const PlannedCase& planned, std::optional<double> /*share_s*/) {
    return measure_isolated(planned, args, timeout_s, seams);
  };
}

void print_phases(profilers::PhaseClock& phases, std::ostream& out) {
  const double whole_s = phases.total_s();
  const auto share = [&](double time_s) { return whole_s > 0 ? reports::percent(time_s / whole_s) : std::string("-"); };
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < profilers::kPhases; ++i) {
    const auto phase = static_cast<profilers::Phase>(i);
    rows.push_back({std::string(name_of(phase)), reports::seconds(phases.time_s(phase)), share(phases.time_s(phase))});
  }
  rows.push_back({"all", reports::seconds(whole_s), share(whole_s)});
  out << reports::text_table({{"phase", reports::Align::kLeft}, {"time"}, {"share"}}, rows);
  out << fmt::format("the cases themselves ran for {} of the time: warm-up, samples, single launches, counters\n",
                     reports::percent(phases.measuring_share()));
}

/// Everything that is rendered comes from the file, as `report` will read it again.
void render(const RunFolder& folder, Context& context, profilers::PhaseClock* phases) {
  std::optional<profilers::PhaseClock::Scope> scope(std::in_place, phases, profilers::Phase::kReports);
  reports::ResultSet results = reports::load_results(*context.seams.files, folder.path);
  const std::vector<std::string> written =
      reports::write_views(*context.seams.files, results, folder.path, context.seams.plot);
  context.out << reports::result_table(results.records) << reports::verdict_sentence(results.records) << '\n';
  context.out << count_sentence(results.records) << "; written to " << folder.path.string() << ": records.jsonl";
  for (const std::string& name : written) {
    context.out << ", " << name;
  }
  context.out << '\n';
  scope.reset();
  if (phases != nullptr) {
    print_phases(*phases, context.out);
  }
}

int gate(const Arguments& arguments, const std::vector<Record>& records, const reports::ResultSet& baseline,
         const RunFolder& folder, const GateOptions& options, Context& context) {
  const ComparedRuns runs{*arguments.text("--baseline"), folder.path.string(), baseline.records, records};
  return present(compare_records(baseline.records, records, options), runs, options, arguments, context);
}

/// A sweep that is resumed elsewhere would hold old rows against the wrong roofs without a word.
void warn_of_other_machine(const RunFolder& folder, const profilers::Machine& machine, std::ostream& err) {
  const auto elsewhere = [&](const Record& record) {
    return record.measured && record.machine_fingerprint != machine.fingerprint;
  };
  const auto count = std::count_if(folder.earlier.begin(), folder.earlier.end(), elsewhere);
  if (count > 0) {
    err << fmt::format(
        "attnprof: {} rows in {} were measured on another machine or by another build; measure them again for a "
        "fair comparison\n",
        count, folder.path.string());
  }
}

/// What the rows of this sweep are measured with.
RunManifest manifest_of(const Arguments& arguments, const MeasuringRequest& measuring, const SweepPlan& plan,
                        const profilers::Machine& machine, Seams& seams) {
  RunManifest out;
  out.settings = measuring_settings(measuring);
  out.settings.push_back({"--isolate", arguments.given("--isolate") ? "true" : "-"});
  out.settings.push_back({"a minute shared by all cases", shares_a_minute(arguments) ? "(no flag about time)" : "-"});
  out.host = profilers::fingerprint(seams.environment());
  out.ceilings = machine.fingerprint;
  out.shard = plan_request(arguments).shard;
  out.cases = plan.cases.size();
  return out;
}

void keep_manifest(const RunManifest& manifest, const RunFolder& folder, Context& context) {
  if (!folder.earlier.empty()) {
    const std::optional<RunManifest> earlier = read_manifest(*context.seams.files, folder.path);
    if (earlier) {
      require_same_run(*earlier, manifest, folder.path);
    } else {
      context.err << fmt::format("attnprof: {} has no run.json, so how its rows were measured is not known\n",
                                 folder.path.string());
    }
  }
  write_manifest(*context.seams.files, manifest, folder.path);
}

/// Where the time goes, if that was asked for.
std::unique_ptr<profilers::PhaseClock> phases_of(const Arguments& arguments, Seams& seams) {
  if (!arguments.given("--timing")) {
    return nullptr;
  }
  if (arguments.given("--isolate") || arguments.given("--dry-run")) {
    throw Error(ErrorKind::kUsage,
                "--timing divides the time of this process, which measures nothing with --isolate or --dry-run");
  }
  return std::make_unique<profilers::PhaseClock>(*seams.clock);
}

profilers::Machine ceilings(const Arguments& arguments, Context& context, profilers::PhaseClock* phases) {
  const profilers::PhaseClock::Scope scope(phases, profilers::Phase::kCeilings);
  return measured_machine(arguments, context);
}

int sweep(const Arguments& arguments, Context& context) {
  const std::int64_t begin_ns = context.seams.clock->now_ns();
  const std::unique_ptr<profilers::PhaseClock> phases = phases_of(arguments, context.seams);
  const SweepPlan plan = plan_of(plan_request(arguments));
  MeasuringRequest measuring = measuring_request(arguments);
  SweepSettings settings;
  settings.phases = phases.get();
  settings.keep_going = keeps_going(arguments);
  if (const auto budget = arguments.text("--budget")) {
    settings.budget_s = parse_duration_s("--budget", *budget);
  }
  // What can go wrong with the request goes wrong before the first case.
  const bool gates = arguments.given("--baseline");
  const GateOptions gate_settings = gates ? gate_of(arguments, context) : gate_request(arguments, std::nullopt);
  std::optional<reports::ResultSet> baseline;
  if (const auto file = arguments.text("--baseline")) {
    baseline = reports::load_results(*context.seams.files, *file);
  }
  for (const char* flag : {"--threshold", "--metric", "--gate", "--across-machines", "--ci"}) {
    if (arguments.given(flag) && !baseline) {
      throw Error(ErrorKind::kUsage, fmt::format("{} compares with an earlier run: add --baseline RUN", flag));
    }
  }
  if (arguments.given("--dry-run")) {
    return print_plan(plan, known_machine(arguments, context), context.out);
  }
  require_a_device(plan, context.seams);
  if (plan.cases.size() == 1) {
    static_cast<void>(cost_case(plan.cases.front()));
  }
  RunFolder folder = open_run_folder(*context.seams.files, arguments.text("--output"), arguments.given("--resume"));
  for (const std::string& note : folder.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  const profilers::Machine machine = ceilings(arguments, context, phases.get());
  if (baseline) {
    require_alike(*baseline, {{}, machine, {}}, gate_settings);
  }
  warn_of_other_machine(folder, machine, context.err);
  keep_manifest(manifest_of(arguments, measuring, plan, machine, context.seams), folder, context);
  write_machine(*context.seams.files, machine, folder.path / "machine.json");
  if (shares_a_minute(arguments)) {
    const double spent_s = profilers::seconds_between(begin_ns, context.seams.clock->now_ns());
    settings.shared_s = std::max(kDefaultSweepS - spent_s, kLeastSharedS);
    measuring.check_limits.macs = kQuickCheckMacs;
    context.err << fmt::format("attnprof: {} cases share about {:.0f} s; --timeout gives each case a time of its own\n",
                               plan.cases.size(), *settings.shared_s);
  }
  const InterruptScope scope(*context.seams.interrupt);
  CaseRunner runner(context.seams, measuring, &machine, phases.get());
  const MeasureCase measure = measure_of(arguments, measuring, runner, folder, context.seams);
  const std::vector<Record> records = run_sweep(plan, folder, settings, measure, context);
  render(folder, context, phases.get());
  name_rows(records, false, context.err);
  context.err << unverified_sentence(records);
  const int code = rows_exit_code(records, *context.seams.interrupt);
  const int gated =
      code == kExitOk && baseline ? gate(arguments, records, *baseline, folder, gate_settings, context) : code;
  const bool judges = gated == kExitOk && gate_settings.fail_on_implausible;
  return judges ? implausible_exit_code(records, context.err) : gated;
}

/// From the plan itself, so that it cannot say anything else.
std::string default_sweep_sentence() {
  const SweepPlan plan = plan_of({});
  std::vector<std::string> variants;
  std::vector<std::string> layouts;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  };
  for (const PlannedCase& planned : plan.cases) {
    add(variants, planned.config.text("variant"));
    add(layouts, planned.config.text("layout"));
  }
  return fmt::format("Without a workload: {} in the layouts {}\non a grid of {}, both plans: {} cases, "
                     "which share a minute.\n",
                     fmt::join(variants, ", "), fmt::join(layouts, ", "), plan.cases.front().config.text("grid"),
                     plan.cases.size());
}

std::vector<OptionSpec> own_options() {
  constexpr OptionGroup kSelect = OptionGroup::kSelection;
  constexpr OptionGroup kOut = OptionGroup::kOutput;
  std::vector<OptionSpec> out = {{"--shard", "", "I/N", "every N-th case, from the I-th", kSelect},
                                 {"--budget", "", "TIME", "no case begins after it", kSelect},
                                 {"--keep-going", "", "BOOL", "go on after a failed row (true)", kSelect},
                                 {"--isolate", "", "", "each case in its own process", kSelect},
                                 {"--shuffle", "", "", "random order by --seed", OptionGroup::kMeasuring},
                                 {"--timing", "", "", "say what the time went to", OptionGroup::kMeasuring},
                                 {"--output", "-o", "DIR", "(attnprof-out)", kOut},
                                 {"--resume", "", "", "go on where it stopped", kOut},
                                 {"--dry-run", "", "", "list the cases, run none", kOut},
                                 {"--baseline", "", "RUN", "fail if slower than this one", OptionGroup::kGate}};
  out[2].value_optional = true;
  return out;
}

} // namespace

Command sweep_command() {
  Command out;
  out.name = "sweep";
  out.summary = "measure a grid of cases; writes records, tables and a report";
  out.details = default_sweep_sentence();
  out.usage = "[WORKLOAD...] [CASE_ID...] [-o DIR]";
  out.positional = "case id";
  out.options = joined({workload_options(),
                        selection_options(),
                        measuring_options(),
                        own_options(),
                        {hardware_option()},
                        gate_options()});
  out.examples = {"sweep", "sweep --variant mha,gqa --seq-len 128:4096:*2 --heads 8 --dim 512 -o results --resume"};
  out.run = sweep;
  return out;
}

} // namespace attnprof::cli
