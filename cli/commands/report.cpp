#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"
#include "reports/writers/csv.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/html.hpp"
#include "reports/writers/junit.hpp"
#include "reports/writers/markdown.hpp"

#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::ResultSet;

struct View {
  const char* flag;
  const char* help;
  std::string (*render)(const ResultSet& results);
};

const std::vector<View>& views() {
  static const std::vector<View> kViews = {
      {"--csv", "a row a case, as results.csv", [](const ResultSet& r) { return reports::results_csv(r.records); }},
      {"--kernels", "a row a launch, as kernels.csv",
       [](const ResultSet& r) { return reports::kernels_csv(r.records); }},
      {"--html", "self-contained page", [](const ResultSet& r) { return reports::report_html(r); }},
      {"--md", "Markdown summary", [](const ResultSet& r) { return reports::summary_markdown(r); }},
      {"--json", "all records as one document",
       [](const ResultSet& r) { return reports::json_text(reports::cases_document(r.records), 1) + "\n"; }},
      {"--junit", "JUnit XML, a test case a case", [](const ResultSet& r) { return reports::junit_xml(r); }},
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

int report(const Arguments& arguments, Context& context) {
  if (arguments.positionals().size() != 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("report takes one run folder or file, and {} are given", arguments.positionals().size()));
  }
  const ResultSet results = reports::load_results(*context.seams.files, arguments.positionals().front());
  for (const std::string& note : results.notes) {
    context.err << "attnprof: " << note << '\n';
  }
  bool rendered = false;
  for (const View& view : views()) {
    if (const auto file = arguments.text(view.flag)) {
      rendered = true;
      if (*file == "-") {
        context.out << view.render(results);
      } else {
        context.seams.files->write(*file, view.render(results));
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
  out.options.push_back(
      {"--svg", "", "DIR", "roofline and throughput as .svg, .png, .pdf (gnuplot)", OptionGroup::kOutput});
  out.examples = {"report attnprof-out", "report attnprof-out --csv results.csv --junit junit.xml --svg figures"};
  out.run = report;
  return out;
}

} // namespace attnprof::cli
