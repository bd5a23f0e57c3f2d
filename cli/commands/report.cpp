#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/history_file.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"
#include "reports/trend.hpp"
#include "reports/writers/csv.hpp"
#include "reports/writers/gbench.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/html.hpp"
#include "reports/writers/junit.hpp"
#include "reports/writers/markdown.hpp"
#include "reports/writers/trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::ResultSet;

/// `history` is what the page draws of earlier runs, or null.
struct View {
  const char* flag;
  const char* help;
  std::string (*render)(const ResultSet& results, const reports::Json& history);
};

const std::vector<View>& views() {
  static const std::vector<View> kViews = {
      {"--csv", "a row a case, as results.csv",
       [](const ResultSet& r, const reports::Json&) { return reports::results_csv(r.records); }},
      {"--kernels", "a row a launch, as kernels.csv",
       [](const ResultSet& r, const reports::Json&) { return reports::kernels_csv(r.records); }},
      {"--html", "self-contained page",
       [](const ResultSet& r, const reports::Json& history) { return reports::report_html(r, history); }},
      {"--md", "Markdown summary",
       [](const ResultSet& r, const reports::Json&) { return reports::summary_markdown(r); }},
      {"--json", "all records as one document",
       [](const ResultSet& r, const reports::Json&) { return reports::cases_text(r.records) + "\n"; }},
      {"--gbench", "as Google Benchmark writes it",
       [](const ResultSet& r, const reports::Json&) { return reports::gbench_json(r); }},
      {"--trace", "launches, for ui.perfetto.dev",
       [](const ResultSet& r, const reports::Json&) { return reports::trace_json(r.records); }},
      {"--junit", "JUnit XML, a test case a case",
       [](const ResultSet& r, const reports::Json&) { return reports::junit_xml(r); }},
  };
  return kViews;
}

void write_figures(const ResultSet& results, const std::filesystem::path& folder, Context& context) {
  context.seams.files->make_directory(folder);
  for (const reports::Figure& figure : reports::figures_of(results)) {
    context.seams.files->write(folder / (figure.name + ".gnuplot"), figure.script);
    if (context.seams.plot(folder, figure).empty()) {
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("--svg needs gnuplot on the PATH: install it and run it on {}.gnuplot, or use --html, "
                              "which draws by itself",
                              (folder / figure.name).string()));
    }
  }
}

/// Trends of the median times of this run's cases on its machine.
reports::Json history_of(const ResultSet& results, const Arguments& arguments) {
  const auto file = arguments.text("--history");
  if (!file) {
    return nullptr;
  }
  if (!arguments.given("--html")) {
    throw Error(ErrorKind::kUsage, "--history is drawn in the page: add --html FILE; history show prints it");
  }
  std::vector<reports::Trend> trends = reports::trends_of(open_history(*file, false)->runs(), "time_median_s");
  std::erase_if(trends, [&](const reports::Trend& trend) {
    const bool elsewhere = results.machine && trend.machine != results.machine->fingerprint;
    return elsewhere || std::none_of(results.records.begin(), results.records.end(),
                                     [&](const profilers::Record& record) { return record.id == trend.id; });
  });
  return reports::trends_json(trends);
}

int report(const Arguments& arguments, Context& context) {
  if (arguments.positionals().size() != 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("report takes one run folder or file, and {} are given", arguments.positionals().size()));
  }
  const ResultSet results = reports::load_results(*context.seams.files, arguments.positionals().front());
  for (const std::string& note : results.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  const reports::Json history = history_of(results, arguments);
  bool rendered = false;
  for (const View& view : views()) {
    if (const auto file = arguments.text(view.flag)) {
      rendered = true;
      if (*file == "-") {
        context.out << view.render(results, history);
      } else {
        context.seams.files->write(*file, view.render(results, history));
      }
    }
  }
  if (const auto folder = arguments.text("--svg")) {
    rendered = true;
    write_figures(results, *folder, context);
  }
  if (!rendered) {
    context.out << reports::result_table(results.records) << reports::verdict_sentence(results.records) << '\n';
  }
  return 0;
}

} // namespace

Command report_command() {
  Command out;
  out.name = "report";
  out.summary = "render a finished or unfinished run again; never measures";
  out.details = "Without a flag the table of the cases is printed. FILE may be - for standard output.\n";
  out.usage = "DIR|FILE [--csv FILE] [--html FILE] ...";
  out.positional = "run folder or file";
  for (const View& view : views()) {
    out.options.push_back({view.flag, "", "FILE", view.help, OptionGroup::kOutput});
  }
  out.options.push_back({"--history", "", "FILE", "drawn in --html: earlier runs", OptionGroup::kOutput});
  out.options.push_back(
      {"--svg", "", "DIR", "roofline and throughput as .svg, .png, .pdf (gnuplot)", OptionGroup::kOutput});
  out.examples = {"report attnprof-out", "report attnprof-out --csv results.csv --junit junit.xml --svg figures"};
  out.run = report;
  return out;
}

} // namespace attnprof::cli
