#include "cli/turns.hpp"

#include "cli/case_runner.hpp"
#include "cli/equalise.hpp"
#include "cli/exit_code.hpp"
#include "cli/interleave.hpp"
#include "cli/machine_store.hpp"
#include "cli/planted.hpp"
#include "cli/quantity.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/console.hpp"
#include "reports/decompose.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;
using profilers::Status;
using reports::Json;
using Groups = std::vector<std::vector<std::size_t>>;

/// Programs of all cases are in memory at once.
constexpr std::size_t kMostInterleaved = 64;

/// What the flags ask for beyond the cases themselves.
struct TurnRequest {
  std::optional<Equal> equal;
  std::string knob;              ///< depth or dim; empty: whichever comes nearer
  std::optional<double> planted; ///< share by which the second of two like cases is slowed down
  GateOptions gate;
  bool is_gate = false; ///< whether a slower case fails
};

TurnRequest turn_request(const Arguments& arguments) {
  TurnRequest out;
  out.gate = gate_request(arguments, std::nullopt);
  out.is_gate = arguments.given("--fail-on") || arguments.given("--threshold");
  for (const char* flag :
       {"--metric", "--gate", "--across-machines", "--noise-run", "--ci", "--junit", "--md", "--link"}) {
    if (arguments.given(flag)) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("{} does not apply to workloads measured in turns, only to two run folders: leave it out", flag));
    }
  }
  if (const auto text = arguments.text("--equal")) {
    out.equal = equal_from(*text);
  }
  if (const auto text = arguments.text("--vary")) {
    out.knob = *text == "width" ? "dim" : *text;
    if (!out.equal || (out.knob != "dim" && out.knob != "depth")) {
      throw Error(ErrorKind::kUsage, !out.equal
                                         ? "--vary says what --equal changes: add --equal flops"
                                         : fmt::format("--vary '{}' is not valid: choose one of depth, width", *text));
    }
  } else if (out.equal == Equal::kDepth || out.equal == Equal::kLatency) {
    out.knob = "depth";
  }
  if (const auto text = arguments.text("--plant")) {
    out.planted = parse_ratio("--plant", *text);
  }
  return out;
}

SweepPlan interleaved_plan(const Arguments& arguments, const TurnRequest& turn) {
  PlanRequest request = plan_request(arguments);
  request.default_axes = {both_plans()};
  if (!chooses_workload(request)) {
    throw Error(ErrorKind::kUsage, "compare takes two run folders, or workloads such as --variant mha,cga");
  }
  SweepPlan plan = plan_sweep(request);
  if (turn.planted) {
    if (plan.cases.size() != 1) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--plant compares one case with itself, slowed down, and this is {}: choose one, such as "
                              "with --plan fused",
                              plan.cases.size()));
    }
    plan.cases.push_back(plan.cases.front());
  }
  if (plan.cases.size() < 2 || plan.cases.size() > kMostInterleaved) {
    throw Error(ErrorKind::kUsage,
                fmt::format("compare measures 2 to {} cases in turns, and this is {}: {}", kMostInterleaved,
                            plan.cases.size(),
                            plan.cases.size() < 2 ? "give a list, such as --variant mha,cga" : "use sweep"));
  }
  return plan;
}

/// One line for --equal: what was changed, and how near it came.
struct Adjustment {
  std::string name;
  Equalised sizes;
};

class Equaliser {
 public:
  Equaliser(const TurnRequest& turn, const MeasuringRequest& measuring, Context& context)
      : turn_(turn), measuring_(measuring), context_(context) {}

  /// Every case but the first of its group gets other sizes.
  std::vector<Adjustment> apply(SweepPlan& plan) {
    std::vector<Adjustment> out;
    for (const std::vector<std::size_t>& group : comparison_groups(plan.cases)) {
      const PlannedCase& base = plan.cases[group.front()];
      const Quantity quantity = quantity_beside(base);
      const auto target = turn_.equal == Equal::kLatency ? std::optional(1.0) : quantity(base.config);
      if (!base.rejection.empty() || !target || !(*target > 0)) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("--equal {} has no {} of {} to aim at{}", name_of(*turn_.equal), name_of(*turn_.equal),
                                base.id, base.rejection.empty() ? "" : ": " + base.rejection));
      }
      for (std::size_t i = 1; i < group.size(); ++i) {
        PlannedCase& other = plan.cases[group[i]];
        const Equalised found = solve(other, *target, quantity);
        other = {operators::case_id(found.config), found.config, ""};
        out.push_back({other.id, found});
      }
    }
    return out;
  }

 private:
  Quantity quantity_beside(const PlannedCase& base) {
    switch (*turn_.equal) {
    case Equal::kDepth: return sublayers_of;
    case Equal::kFlops: return flops_of;
    case Equal::kParams: return params_of;
    case Equal::kLatency: break;
    }
    // A ratio to the base in a short measurement of both in turns.
    return [this, base = base.config](const operators::Config& config) -> std::optional<double> {
      MeasuringRequest brief = measuring_;
      brief.timing.min_time_s = std::min(brief.timing.min_time_s, 0.1);
      const auto times = medians_in_turns({base, config}, brief, context_);
      return times[0] && times[1] && *times[0] > 0 ? std::optional(*times[1] / *times[0]) : std::nullopt;
    };
  }

  Equalised solve(const PlannedCase& other, double target, const Quantity& quantity) const {
    if (!other.rejection.empty()) {
      throw Error(ErrorKind::kInvalid, other.rejection);
    }
    std::optional<Equalised> best;
    std::vector<std::string> tried;
    for (const char* knob : {"depth", "dim"}) {
      if ((!turn_.knob.empty() && turn_.knob != knob) || !other.config.has(knob)) {
        continue;
      }
      tried.emplace_back(knob);
      const auto found = turn_.equal == Equal::kLatency ? equalise_measured(other.config, knob, target, quantity)
                                                        : equalise(other.config, knob, target, quantity);
      if (found && (!best || std::abs(found->mismatch()) < std::abs(best->mismatch()))) {
        best = found;
      }
    }
    if (!best) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--equal {} finds no size for {}: {}", name_of(*turn_.equal), other.id,
                              tried.empty() ? "it has no depth or dim to vary" : "no value of it can exist"));
    }
    return *best;
  }

  const TurnRequest& turn_;
  const MeasuringRequest& measuring_;
  Context& context_;
};

std::string adjustment_text(const Adjustment& one, Equal equal, const std::string& name) {
  return fmt::format("{}: {} {} -> {} for equal {}: {} beside {}, mismatch {:+.2f} %\n", name, one.sizes.knob,
                     one.sizes.before, one.sizes.after, name_of(equal),
                     equal == Equal::kLatency ? fmt::format("{:.3f} of its time", one.sizes.achieved)
                                              : reports::plain(one.sizes.achieved),
                     equal == Equal::kLatency ? "1" : reports::plain(one.sizes.target), one.sizes.mismatch() * 100);
}

/// Everything that was found out about the cases.
struct TurnResults {
  std::vector<Record> records;
  std::vector<std::string> names;
  Groups groups;
  TurnComparison comparison;
  std::vector<std::optional<reports::Decomposition>> parts; ///< by case, against the base of its group
};

std::vector<std::optional<reports::Decomposition>> decompositions(const TurnResults& results,
                                                                  const profilers::Machine& machine) {
  std::vector<std::optional<reports::Decomposition>> out(results.records.size());
  const auto times_of = [&](std::size_t i) {
    const Record& record = results.records[i];
    return reports::model_times(record, reports::roofs_for(machine, record));
  };
  for (const std::vector<std::size_t>& group : results.groups) {
    const auto base = times_of(group.front());
    for (const std::size_t i : group) {
      const auto& verdict = results.comparison.verdicts[i];
      const auto other = times_of(i);
      if (verdict && base && other) {
        out[i] = reports::decompose(*base, *other, std::log(verdict->ratio));
      }
    }
  }
  return out;
}

std::string flops_ratio(const Record& base, const Record& other) {
  const double flops = static_cast<double>(base.totals->work.flops().value());
  return flops > 0 ? fmt::format("{:.2f}", static_cast<double>(other.totals->work.flops().value()) / flops)
                   : std::string(reports::kAbsentText);
}

/// One line a case of the group, against its first.
std::string group_table(const std::vector<std::size_t>& group, const TurnResults& results) {
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t i : group) {
    const Record& record = results.records[i];
    const std::string time = record.measured ? reports::seconds(record.measured->time_median_s) : "-";
    std::vector<std::string> row{results.names[i], time, "-", "-", "-", "-", record.reason};
    if (const auto& verdict = results.comparison.verdicts[i]) {
      row[2] = fmt::format("{:.3f}", verdict->ratio);
      row[3] = fmt::format("{:.3f}..{:.3f}", verdict->interval.low, verdict->interval.high);
      row[4] = reports::percent(verdict->smallest_detectable);
      row[5] = flops_ratio(results.records[group.front()], record);
      row[6] = name_of(verdict->change);
    } else if (i == group.front() && record.reason.empty()) {
      row[6] = "base";
    } else if (record.reason.empty()) {
      row[6] = fmt::format("{} (too few rounds)", name_of(Change::kInconclusive));
    }
    rows.push_back(std::move(row));
  }
  using reports::Align;
  return reports::text_table({{"case", Align::kLeft},
                              {"median"},
                              {"time ratio"},
                              {"95 % interval"},
                              {"would find"},
                              {"FLOP ratio"},
                              {"verdict", Align::kLeft}},
                             rows);
}

/// Factors that multiply to the time ratio; empty where the ceilings are unknown.
std::string parts_table(const std::vector<std::size_t>& group, const TurnResults& results) {
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t i : group) {
    if (const auto& parts = results.parts[i]) {
      const auto factor = [](double log) { return fmt::format("x {:.3f}", std::exp(log)); };
      rows.push_back({results.names[i], factor(parts->work), factor(parts->bytes), factor(parts->launches),
                      factor(parts->efficiency), fmt::format("{:.3f}", std::exp(parts->sum()))});
    }
  }
  using reports::Align;
  return rows.empty()
             ? ""
             : "where the difference comes from (work, bytes and launches by least times at this machine's "
               "ceilings; the factors multiply to the ratio):\n" +
                   reports::text_table(
                       {{"case", Align::kLeft}, {"work"}, {"bytes"}, {"launches"}, {"efficiency"}, {"time ratio"}},
                       rows);
}

void print(const TurnResults& results, std::ostream& out) {
  for (const std::vector<std::size_t>& group : results.groups) {
    if (results.groups.size() > 1) {
      out << fmt::format("plan {}\n", results.records[group.front()].config.text("plan"));
    }
    out << group_table(group, results) << parts_table(group, results) << '\n';
  }
  const TurnComparison& comparison = results.comparison;
  out << fmt::format("threshold {}", reports::percent(comparison.threshold));
  if (comparison.noise_floor) {
    out << fmt::format(", noise floor {} (A/A self-test of {} pairs of visits)",
                       reports::percent(comparison.noise_floor), comparison.self_tests);
  }
  // Which case is faster stands in the table, from ratios that were paired round by round.
  out << '\n' << reports::bounds_sentence(results.records) << '\n';
}

Json adjustments_json(const std::vector<Adjustment>& adjustments, const TurnRequest& turn) {
  Json out = Json::array();
  for (const Adjustment& one : adjustments) {
    out.push_back({{"id", one.name},
                   {"equal", name_of(*turn.equal)},
                   {"knob", one.sizes.knob},
                   {"before", one.sizes.before},
                   {"after", one.sizes.after},
                   {"target", one.sizes.target},
                   {"achieved", one.sizes.achieved},
                   {"mismatch", one.sizes.mismatch()}});
  }
  return out;
}

Json comparison_json(const TurnResults& results) {
  Json out = Json::array();
  for (const std::vector<std::size_t>& group : results.groups) {
    for (std::size_t k = 1; k < group.size(); ++k) {
      const std::size_t i = group[k];
      Json one = {{"base", results.records[group.front()].id}, {"id", results.records[i].id}};
      if (const auto& verdict = results.comparison.verdicts[i]) {
        one["verdict"] = name_of(verdict->change);
        one["ratio"] = verdict->ratio;
        one["log_ratio"] = std::log(verdict->ratio);
        one["interval"] = {verdict->interval.low, verdict->interval.high};
        one["p"] = verdict->p;
        one["smallest_detectable"] = verdict->smallest_detectable;
      } else {
        one["verdict"] = nullptr;
      }
      const auto& parts = results.parts[i];
      one["log_ratio_parts"] = parts ? Json({{"work", parts->work},
                                             {"bytes", parts->bytes},
                                             {"launches", parts->launches},
                                             {"efficiency", parts->efficiency}})
                                     : Json();
      out.push_back(std::move(one));
    }
  }
  return out;
}

int exit_code_of(const TurnResults& results, const TurnRequest& turn, const Interrupt& interrupt) {
  const int code = rows_exit_code(results.records, interrupt);
  if (code != kExitOk || !turn.is_gate) {
    return code;
  }
  const auto any = [&](Change change) {
    const auto& verdicts = results.comparison.verdicts;
    return fails(change, turn.gate) && std::any_of(verdicts.begin(), verdicts.end(), [&](const auto& verdict) {
             return verdict && verdict->change == change;
           });
  };
  return any(Change::kSlower) ? kExitRegression : any(Change::kInconclusive) ? kExitInconclusive : kExitOk;
}

/// Two like cases are told apart by what was done to the second.
std::vector<std::string> names_of(const std::vector<Record>& records, const TurnRequest& turn) {
  std::vector<std::string> names = reports::short_names(records);
  if (turn.planted) {
    names[1] += *turn.planted > 0 ? fmt::format(" + {}", reports::percent(turn.planted)) : " (again)";
  }
  return names;
}

TurnResults measure_all(const SweepPlan& plan, const TurnRequest& turn, const MeasuringRequest& measuring,
                        const profilers::Machine& machine, Context& context) {
  CaseRunner runner(context.seams, measuring, &machine);
  std::vector<PreparedCase> cases;
  for (const PlannedCase& planned : plan.cases) {
    context.err << "attnprof: preparing " << planned.id << '\n';
    cases.push_back(runner.prepare(planned));
  }
  if (turn.planted && cases[1].program != nullptr) {
    cases[1].program = planted(std::move(cases[1].program), *turn.planted, *context.seams.clock);
    cases[1].record.warnings.push_back(
        fmt::format("slowed down on purpose by {}: --plant", reports::percent(turn.planted)));
  }
  context.err << fmt::format("attnprof: measuring {} cases in turns\n", cases.size());
  const RoundMedians rounds = measure_interleaved(cases, measuring, context.seams);
  TurnResults results;
  for (PreparedCase& prepared : cases) {
    if (context.seams.interrupt->requested) {
      prepared.record.status = Status::kSkipped;
      prepared.record.reason = kInterruptedReason;
      prepared.record.measured.reset();
    } else if (prepared.record.measured) {
      runner.explain(prepared, measuring.timing.timeout_s);
    }
    results.records.push_back(std::move(prepared.record));
  }
  results.names = names_of(results.records, turn);
  results.groups = comparison_groups(plan.cases);
  results.comparison = compare_turns(rounds, results.groups, turn.gate.threshold);
  results.parts = decompositions(results, machine);
  return results;
}

} // namespace

std::vector<OptionSpec> turn_options() {
  return {{"--equal", "", "WHAT", "by depth|flops|params|latency", OptionGroup::kSelection},
          {"--vary", "", "KNOB", "with --equal: depth|width", OptionGroup::kSelection},
          {"--plant", "", "RATIO", "the case again, slowed", OptionGroup::kSelection}};
}

int compare_workloads(const Arguments& arguments, Context& context) {
  const TurnRequest turn = turn_request(arguments);
  SweepPlan plan = interleaved_plan(arguments, turn);
  const MeasuringRequest measuring = measuring_request(arguments);
  require_a_device(plan, context.seams);
  const profilers::Machine machine = measured_machine(arguments, context);
  const InterruptScope scope(*context.seams.interrupt);
  const std::vector<Adjustment> adjustments =
      turn.equal ? Equaliser(turn, measuring, context).apply(plan) : std::vector<Adjustment>();
  const TurnResults results = measure_all(plan, turn, measuring, machine, context);
  for (const std::string& note : results.comparison.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  const bool as_json = arguments.given("--json");
  if (as_json) {
    Json document = reports::cases_document(results.records);
    document["comparisons"] = comparison_json(results);
    document["equalised"] = adjustments_json(adjustments, turn);
    context.out << reports::json_text(document, 1) << '\n';
  } else {
    for (const Adjustment& one : adjustments) {
      const auto at = std::find_if(results.records.begin(), results.records.end(),
                                   [&](const Record& record) { return record.id == one.name; });
      context.out << adjustment_text(one, *turn.equal,
                                     results.names[static_cast<std::size_t>(at - results.records.begin())]);
    }
    print(results, context.out);
  }
  name_rows(results.records, as_json, context.err);
  const int code = exit_code_of(results, turn, *context.seams.interrupt);
  const bool judges = code == kExitOk && turn.gate.fail_on_implausible;
  return judges ? implausible_exit_code(results.records, context.err) : code;
}

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

} // namespace attnprof::cli
