#include "cli/run_comparison.hpp"

#include "cli/exit_code.hpp"
#include "cli/likeness.hpp"
#include "cli/options.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "reports/result_set.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

reports::ResultSet load(const std::string& path, Context& context) {
  reports::ResultSet out = reports::load_results(*context.seams.files, path);
  for (const std::string& note : out.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  return out;
}

bool compares_times(const GateOptions& options) {
  return options.kind == GateKind::kTimes && !is_count(metrics_of(options).front());
}

void write_view(const std::string& file, const std::string& text, Context& context) {
  if (file == "-") {
    context.out << text;
  } else {
    context.seams.files->write(file, text);
  }
}

void require_pairs(const Arguments& arguments) {
  const std::vector<std::string>& paths = arguments.positionals();
  if (paths.size() < 2 || !axes_from(arguments).empty()) {
    throw Error(ErrorKind::kUsage, paths.size() < 2
                                       ? "compare takes two or more run folders or files, the earlier one first"
                                       : "compare takes run folders or workload flags, not both");
  }
  for (const char* flag : {"--junit", "--md"}) {
    if (paths.size() > 2 && arguments.given(flag)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} holds one comparison, and {} runs are compared with the first: compare them one by "
                              "one",
                              flag, paths.size() - 1));
    }
  }
}

} // namespace

std::vector<OptionSpec> gate_view_options() {
  std::vector<OptionSpec> out = {{"--junit", "", "FILE", "verdicts as JUnit XML", OptionGroup::kOutput},
                                 {"--md", "", "FILE", "verdicts as Markdown", OptionGroup::kOutput},
                                 {"--link", "", "NAME=URL", "named in --md", OptionGroup::kOutput}};
  out.back().repeats = true;
  return out;
}

GateOptions gate_of(const Arguments& arguments, Context& context) {
  const std::optional<std::string> shared = shared_runner(context.seams.variable);
  GateOptions options = gate_request(arguments, shared);
  if (options.kind == GateKind::kCounts && shared && !arguments.given("--gate") && !arguments.given("--metric")) {
    context.err << fmt::format("attnprof: {}, so counts are compared and times are not, as on any machine that is "
                               "shared; --gate times compares times\n",
                               *shared);
  }
  return options;
}

void require_alike(const reports::ResultSet& before, const reports::ResultSet& after, const GateOptions& options) {
  if (!compares_times(options) || options.across_machines) {
    return;
  }
  if (const std::vector<std::string> unlike = differences(before, after); !unlike.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the runs were made on unlike machines or by unlike builds ({}), so their times cannot be "
                            "compared: --across-machines compares fractions of each machine's own roof, --gate counts "
                            "what is counted",
                            fmt::join(unlike, "; ")));
  }
}

int present(const Comparison& comparison, const ComparedRuns& runs, const GateOptions& options,
            const Arguments& arguments, Context& context) {
  for (const std::string& note : comparison.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  const bool as_json = arguments.given("--json");
  if (as_json) {
    context.out << reports::json_text(change_json(comparison), 1) << '\n';
  } else {
    context.out << change_table(comparison, runs);
  }
  if (arguments.given("--ci")) {
    (as_json ? context.err : context.out) << change_annotations(comparison, runs, options);
  }
  if (const auto file = arguments.text("--junit")) {
    write_view(*file, change_junit(comparison, options), context);
  }
  if (const auto file = arguments.text("--md")) {
    write_view(*file, change_markdown(comparison, runs, options, arguments.all("--link")), context);
  }
  const int code = gate_exit_code(comparison, options);
  return code == kExitOk && options.fail_on_implausible ? implausible_exit_code(runs.after, context.err) : code;
}

int compare_runs(const Arguments& arguments, Context& context) {
  const GateOptions options = gate_of(arguments, context);
  require_pairs(arguments);
  const std::vector<std::string>& paths = arguments.positionals();
  const reports::ResultSet before = load(paths.front(), context);
  if (before.records.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' holds no records to compare with", paths.front()));
  }
  std::vector<profilers::Record> repeated;
  if (const auto path = arguments.text("--noise-run")) {
    const reports::ResultSet again = load(*path, context);
    require_alike(before, again, options);
    repeated = again.records;
  }
  int worst = kExitOk;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const reports::ResultSet after = load(paths[i], context);
    require_alike(before, after, options);
    if (paths.size() > 2 && !arguments.given("--json")) {
      context.out << paths[i] << '\n';
    }
    const ComparedRuns runs{paths.front(), paths[i], before.records, after.records};
    const Comparison comparison = compare_records(before.records, after.records, options, repeated);
    const int code = present(comparison, runs, options, arguments, context);
    worst = worst == kExitOk ? code : code == kExitOk ? worst : std::min(worst, code);
  }
  return worst;
}

} // namespace attnprof::cli
