// The views of a checked-in run folder, byte by byte: a change of a format shows up in review.
#include "reports/console.hpp"
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"
#include "reports/writers/csv.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/junit.hpp"
#include "reports/writers/markdown.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

#include <cstdlib>
#include <map>

using namespace attnprof;
using namespace attnprof::reports;

namespace {

std::filesystem::path fixture(const std::string& name) {
  return tests::test_files_dir() / "reports" / name;
}

std::string kernel_tables(const ResultSet& results) {
  std::string out;
  for (const profilers::Record& record : results.records) {
    out += kernel_table(record) + verdict_sentence(record) + "\n\n";
  }
  return out;
}

} // namespace

TEST_CASE("the views of a run folder are as checked in") {
  DiskFiles files;
  const ResultSet results = load_results(files, fixture("run"));
  CHECK(results.notes.empty());
  const std::map<std::string, std::string> views = {
      {"results.csv", results_csv(results.records)},
      {"kernels.csv", kernels_csv(results.records)},
      {"summary.md", summary_markdown(results)},
      {"junit.xml", junit_xml(results)},
      {"roofline.gnuplot", roofline_gnuplot(results)},
      {"throughput.gnuplot", throughput_gnuplot(results)},
      {"result_table.txt", result_table(results.records) + verdict_sentence(results.records) + "\n"},
      {"kernel_tables.txt", kernel_tables(results)},
  };
  for (const auto& [name, text] : views) {
    if (std::getenv("ATTNPROF_UPDATE_GOLDEN") != nullptr) {
      files.write(fixture(name), text);
    }
    INFO(name << " differs: run this test with ATTNPROF_UPDATE_GOLDEN=1 and read the difference");
    CHECK((files.read(fixture(name)) == text));
  }
}

TEST_CASE("the record lines of a run folder survive being written again") {
  DiskFiles files;
  for (const profilers::Record& record : load_results(files, fixture("run")).records) {
    const profilers::Record again = record_from_line(record_line(record));
    CHECK(record_line(again) == record_line(record));
  }
}
