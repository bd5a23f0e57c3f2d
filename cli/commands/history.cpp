#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/history_file.hpp"
#include "cli/quantity.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/format.hpp"
#include "reports/result_set.hpp"
#include "reports/trend.hpp"
#include "reports/verdict.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <regex>
#include <set>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::PastRun;
using reports::Trend;

/// The commit under test: as asked for, else as the CI service says.
std::string commit_of(const Arguments& arguments, const Variable& variable) {
  if (const auto text = arguments.text("--commit")) {
    return *text;
  }
  for (const char* name : {"GITHUB_SHA", "CI_COMMIT_SHA", "CIRCLE_SHA1", "BUILDKITE_COMMIT"}) {
    if (const auto value = variable ? variable(name) : std::nullopt; value && !value->empty()) {
      return *value;
    }
  }
  return {};
}

int add(const Arguments& arguments, const std::vector<std::string>& words, Context& context) {
  if (words.size() < 3) {
    throw Error(ErrorKind::kUsage, "history add takes the history file and one or more runs: history add history.db "
                                   "attnprof-out");
  }
  std::vector<PastRun> runs; // all of them are read before the first is kept
  for (std::size_t i = 2; i < words.size(); ++i) {
    reports::ResultSet results = reports::load_results(*context.seams.files, words[i]);
    if (results.records.empty()) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}' holds no records to keep", words[i]));
    }
    PastRun run;
    run.added_on = arguments.text("--date").value_or("");
    run.commit = commit_of(arguments, context.seams.variable);
    run.label = arguments.text("--label").value_or("");
    if (results.machine) {
      run.machine = results.machine->fingerprint;
      run.processor = results.machine->environment.cpu_model.value_or("");
      if (run.commit.empty()) {
        run.commit = results.machine->environment.commit;
      }
    }
    run.records = std::move(results.records);
    runs.push_back(std::move(run));
  }
  const auto history = open_history(words[1], true);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int64_t number = history->add(runs[i]);
    context.out << (number == 0
                        ? fmt::format("{} is in {} already\n", words[i + 2], words[1])
                        : fmt::format("run {}: {} cases of {}\n", number, runs[i].records.size(), words[i + 2]));
  }
  return kExitOk;
}

std::string value_text(double value, const Trend& trend) {
  return trend.unit == "s" ? reports::seconds(value) : reports::plain(value);
}

std::string trend_table(const std::vector<Trend>& trends, std::size_t last) {
  std::vector<profilers::Record> latest;
  std::set<std::string> machines;
  for (const Trend& trend : trends) {
    latest.push_back(trend.latest);
    machines.insert(trend.machine);
  }
  const std::vector<std::string> names = reports::short_names(latest);
  using reports::Align;
  std::vector<reports::TextColumn> columns = {{"case", Align::kLeft}};
  if (machines.size() > 1) {
    columns.push_back({"machine", Align::kLeft});
  }
  for (const char* head : {"runs", "usual", "low", "high", "latest", "change"}) {
    columns.push_back({head});
  }
  columns.push_back({"trend", Align::kLeft});
  columns.push_back({"verdict", Align::kLeft});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < trends.size(); ++i) {
    const Trend& trend = trends[i];
    const auto& limits = trend.limits;
    const double value = trend.points.back().value;
    std::vector<double> values;
    for (std::size_t k = trend.points.size() - std::min(last, trend.points.size()); k < trend.points.size(); ++k) {
      values.push_back(trend.points[k].value);
    }
    std::vector<std::string> row{names[i]};
    if (machines.size() > 1) {
      row.push_back(trend.machine.empty() ? std::string(reports::kAbsentText) : trend.machine);
    }
    const auto limit = [&](double one) { return limits ? value_text(one, trend) : std::string(reports::kAbsentText); };
    row.push_back(fmt::format("{}", trend.points.size()));
    for (const double one : {limits ? limits->center : 0.0, limits ? limits->low : 0.0, limits ? limits->high : 0.0}) {
      row.push_back(limit(one));
    }
    row.push_back(value_text(value, trend));
    row.push_back(limits ? fmt::format("{:+.1f} %", (value / limits->center - 1) * 100)
                         : std::string(reports::kAbsentText));
    row.push_back(reports::sparkline(values));
    row.emplace_back(name_of(trend.verdict));
    rows.push_back(std::move(row));
  }
  return reports::text_table(columns, rows);
}

int show(const Arguments& arguments, const std::vector<std::string>& words, Context& context) {
  if (words.size() != 2) {
    throw Error(ErrorKind::kUsage, "history show takes one history file: history show history.db");
  }
  const std::string metric = arguments.text("--metric").value_or("time_median_s");
  profilers::TrendOptions options;
  constexpr std::int64_t kMostRuns = 100'000;
  if (const auto text = arguments.text("--last")) {
    options.window = static_cast<std::size_t>(parse_count("--last", *text, 5, kMostRuns));
  }
  const bool is_gate = arguments.given("--fail-on");
  if (is_gate && arguments.text("--fail-on") != "regress") {
    throw Error(ErrorKind::kUsage,
                fmt::format("--fail-on '{}' does not apply to a history, only regress", *arguments.text("--fail-on")));
  }
  const std::vector<PastRun> runs = open_history(words[1], false)->runs();
  std::vector<Trend> trends = reports::trends_of(runs, metric, options);
  if (const auto text = arguments.text("--filter")) {
    try {
      const std::regex filter(*text);
      std::erase_if(trends, [&](const Trend& trend) { return !std::regex_search(trend.id, filter); });
    } catch (const std::regex_error& error) {
      throw Error(ErrorKind::kUsage, fmt::format("--filter '{}' is not a regular expression: {}", *text, error.what()));
    }
  }
  if (trends.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} has no {} of any case that was asked for, in {} runs", words[1], metric, runs.size()));
  }
  if (arguments.given("--json")) {
    context.out << reports::json_text({{"schema_version", reports::kSchemaVersion},
                                       {"runs", runs.size()},
                                       {"trends", reports::trends_json(trends)}},
                                      1)
                << '\n';
  } else {
    context.out << trend_table(trends, options.window)
                << fmt::format("{} of {} runs; limits are 3 spreads about the median of up to {} runs before the "
                               "latest, of the same machine\n",
                               metric, runs.size(), options.window);
  }
  const bool worse = std::any_of(trends.begin(), trends.end(),
                                 [](const Trend& trend) { return trend.verdict == profilers::TrendVerdict::kWorse; });
  return is_gate && worse ? kExitRegression : kExitOk;
}

int history(const Arguments& arguments, Context& context) {
  const std::vector<std::string>& words = arguments.positionals();
  const std::string verb = words.empty() ? "" : words.front();
  if (verb != "add" && verb != "show") {
    throw Error(ErrorKind::kUsage, verb.empty() ? "history takes add or show, then the history file"
                                                : fmt::format("history '{}' is not known: add or show", verb));
  }
  for (const char* flag : {"--commit", "--label", "--date"}) {
    if (verb == "show" && arguments.given(flag)) {
      throw Error(ErrorKind::kUsage, fmt::format("{} belongs to history add", flag));
    }
  }
  for (const char* flag : {"--metric", "--filter", "--last", "--json", "--fail-on"}) {
    if (verb == "add" && arguments.given(flag)) {
      throw Error(ErrorKind::kUsage, fmt::format("{} belongs to history show", flag));
    }
  }
  return verb == "add" ? add(arguments, words, context) : show(arguments, words, context);
}

} // namespace

Command history_command() {
  Command out;
  out.name = "history";
  out.summary = "many runs in one file: trends, and limits from what is usual";
  out.usage = "add FILE RUN... | show FILE";
  out.positional = "add or show, the history file, runs";
  out.options = {{"--commit", "", "ID", "add: commit of the runs (as CI says)", OptionGroup::kOutput},
                 {"--label", "", "TEXT", "add: a name for them", OptionGroup::kOutput},
                 {"--date", "", "TIME", "add: when, as 2026-03-01T12:00:00Z (now)", OptionGroup::kOutput},
                 {"--metric", "", "COLUMN", "show: what (time_median_s)", OptionGroup::kOutput},
                 {"--filter", "-k", "REGEX", "show: searched in the case id", OptionGroup::kOutput},
                 {"--last", "", "N", "show: earlier runs that count (20)", OptionGroup::kOutput},
                 {"--json", "", "", "show: trends as JSON", OptionGroup::kOutput},
                 {"--fail-on", "", "regress", "show: exit 3 where the latest is worse", OptionGroup::kGate}};
  out.examples = {"history add history.db attnprof-out --commit 1a2b3c",
                  "history show history.db --metric roof_fraction -k sandwich"};
  out.run = history;
  return out;
}

} // namespace attnprof::cli
