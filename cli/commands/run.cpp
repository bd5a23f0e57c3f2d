#include "cli/case_runner.hpp"
#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/machine_store.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/quantity.hpp"
#include "cli/replay.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/record_json.hpp"
#include "reports/writers/trace.hpp"

#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using profilers::Record;
using profilers::Status;

void print_case(const Record& record, std::ostream& out) {
  out << record.id << '\n';
  if (record.status != Status::kOk) {
    out << profilers::name_of(record.status) << ": " << record.reason << "\n\n";
    return;
  }
  out << reports::kernel_table(record) << reports::verdict_sentence(record) << "\n\n";
}

/// Nothing is measured: another program watches.
int replay_cases(const SweepPlan& plan, const Arguments& arguments, const MeasuringRequest& measuring,
                 Context& context) {
  constexpr std::int64_t kMostRuns = 1'000'000'000;
  const std::int64_t runs = parse_count("--replay", *arguments.text("--replay"), 1, kMostRuns);
  for (const PlannedCase& planned : plan.cases) {
    static_cast<void>(cost_case(planned)); // refuses an impossible case
    const auto threads = static_cast<int>(planned.config.integer_or("threads", context.seams.environment().cores));
    const std::string device = planned.config.has("device") ? planned.config.text("device") : "cpu";
    replay(planned, runs, measuring.seed, threads, *context.seams.make_executor(device));
    context.err << fmt::format("attnprof: ran {} {} times\n", planned.id, runs);
  }
  return kExitOk;
}

int run_cases(const Arguments& arguments, Context& context) {
  const SweepPlan plan = plan_sweep(plan_request(arguments));
  const MeasuringRequest measuring = measuring_request(arguments);
  require_a_device(plan, context.seams);
  if (arguments.given("--replay")) {
    return replay_cases(plan, arguments, measuring, context);
  }
  if (plan.cases.size() == 1) {
    static_cast<void>(cost_case(plan.cases.front())); // an impossible case alone is a usage error
  }
  const profilers::Machine machine = measured_machine(arguments, context);
  const InterruptScope scope(*context.seams.interrupt);
  CaseRunner runner(context.seams, measuring, &machine);
  Progress progress(context.err, context.seams.err_is_terminal, context.seams.terminal_columns, plan.cases.size(),
                    *context.seams.clock);
  std::vector<Record> records;
  for (const PlannedCase& planned : plan.cases) {
    progress.begin(planned.id);
    records.push_back(context.seams.interrupt->requested
                          ? rejected_record(planned, Status::kSkipped, std::string(kInterruptedReason))
                          : runner.run(planned));
    if (plan.cases.size() > 1) {
      progress.end(reports::result_line(records.back()));
    }
  }
  progress.finish();
  if (arguments.given("--json")) {
    context.out << reports::json_text(reports::cases_document(records), 1) << '\n';
  } else {
    for (const Record& record : records) {
      print_case(record, context.out);
    }
    if (records.size() > 1) {
      context.out << reports::result_table(records) << reports::verdict_sentence(records) << '\n';
    }
  }
  if (const auto file = arguments.text("--trace")) {
    context.seams.files->write(*file, reports::trace_json(records));
  }
  name_rows(records, arguments.given("--json"), context.err);
  context.err << unverified_sentence(records);
  return rows_exit_code(records, *context.seams.interrupt);
}

} // namespace

Command run_command() {
  Command out;
  out.name = "run";
  out.summary = "measure cases and print the kernels of each: time, rate, bound, share of the roof";
  out.usage = "WORKLOAD... [CASE_ID...] [--json]";
  out.positional = "case id";
  out.options = joined({workload_options(),
                        selection_options(),
                        measuring_options(),
                        {{"--replay", "", "N", "only run N times, for other profilers", OptionGroup::kOutput},
                         {"--json", "", "", "print cases as JSON", OptionGroup::kOutput},
                         {"--trace", "", "FILE", "launches, for ui.perfetto.dev", OptionGroup::kOutput},
                         hardware_option()}});
  out.examples = {"run --variant mha --seq-len 1024 --dim 512 --heads 8 --plan eager,fused",
                  "run --variant gqa --phase decode --past-len 4095 --dim 1024 --heads 16 --json"};
  out.run = run_cases;
  return out;
}

} // namespace attnprof::cli
