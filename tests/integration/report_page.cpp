// report.html in a real browser: loaded from the disk without a network, used by keys and clicks, held against the
// records it was made from. Pictures of it are kept in the folder `artefacts` beside the program under test.
#include "reports/charts.hpp"
#include "reports/derive.hpp"
#include "reports/families.hpp"
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"
#include "reports/verdict.hpp"
#include "reports/writers/html.hpp"
#include "tests/support/browser.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/csv_rows.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/reports_records.hpp"

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

profilers::Machine spread_machine() {
  profilers::Machine machine;
  machine.fingerprint = "cafe0123";
  machine.environment.cpu_model = "Test <CPU> & co";
  machine.environment.cores = 2;
  machine.compute.push_back({"fma", "f32", "avx2", 2, 100e9, 90e9, 104e9});
  machine.compute.push_back({"fma_add", "f32", "avx2", 2, 60e9, 50e9, 61e9});
  machine.compute.push_back({"exp", "f32", "avx2", 2, 1e9, 0.9e9, 1.1e9});
  machine.bandwidth.push_back({"L2", "read", 2, 200e9, 180e9, 210e9, 0});
  machine.bandwidth.push_back({"DRAM", "read", 2, 20e9, 15e9, 21e9, 0});
  machine.levels.push_back({"L2", 2, 1'000'000, "curve"});
  machine.levels.push_back({"DRAM", 2, {}, "curve"});
  return machine;
}

/// Two variants in two layouts and two plans, one in both phases, one that failed with a hostile name.
ResultSet many_cases() {
  ResultSet results;
  results.machine = spread_machine();
  double time_s = 100e-6;
  const auto add = [&](profilers::Record record) {
    record.measured->time_median_s = time_s *= 1.17;
    record.measured->time_ci_low_s = time_s * 0.99;
    record.measured->time_ci_high_s = time_s * 1.01;
    record.measured->stability = profilers::Stability::kStable;
    record.measured->samples_s = {time_s, time_s * 1.02, time_s * 0.98};
    record.id += fmt::format(":n={}", results.records.size());
    results.records.push_back(std::move(record));
  };
  for (const char* variant : {"mha", "gqa"}) {
    for (const char* layout : {"standard", "sandwich"}) {
      for (const char* plan : {"eager", "fused"}) {
        profilers::Record record = tests::measured_record(variant);
        record.config.set("layout", std::string(layout));
        record.config.set("plan", std::string(plan));
        record.totals->work.macs += static_cast<std::int64_t>(100'000 * results.records.size());
        add(std::move(record));
      }
    }
    for (const std::int64_t past : {0, 512, 1024}) {
      profilers::Record record = tests::measured_record(variant);
      record.config.set("phase", std::string(past == 0 ? "prefill" : "decode"));
      record.config.set("past_len", past);
      record.totals->kv_cache_bytes = 1000 * (past + 196);
      record.totals->work.macs = 1'000'000 / (past == 0 ? 1 : 7);
      add(std::move(record));
    }
  }
  profilers::Record failed = tests::counted_record("</script><script>pwned = 1</script>");
  failed.id = "variant=</script><script>pwned = 1</script>|mha<fp16>&\"x\",'y'\n<b>bold</b>";
  failed.status = profilers::Status::kFailed;
  failed.reason = "threw <img src=x onerror=pwned=1>";
  results.records.push_back(failed);
  for (profilers::Record& record : results.records) {
    derive(record, *results.machine);
  }
  return results;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The page with the checks inside: errors are caught from the first script on.
std::string with_checks(std::string page, bool without_plotly, const char* checks) {
  const std::string prelude =
      "<script>const page_errors = []; addEventListener('error', event => page_errors.push(String("
      "event.message))); const said = console.error; console.error = (...all) => {"
      "page_errors.push(all.join(' ')); said(...all);};</script>\n";
  const std::string payload = "<script type=\"application/json\"";
  page.insert(page.find(payload), prelude);
  if (without_plotly) {
    page.insert(page.rfind("<script>"), "<script>delete window.Plotly;</script>\n");
  }
  page.insert(page.rfind("</body>"),
              "<script>" + text_of(tests::test_files_dir() / "browser" / checks) + "</script>\n");
  return page;
}

/// Absent, with a word on it, where this machine has no browser: ctest shows the test as skipped.
std::optional<std::filesystem::path> browser() {
  auto found = tests::find_browser();
  if (!found) {
    WARN("skipped: no browser (chromium or google-chrome on the PATH, or ATTNPROF_BROWSER)");
    SUCCEED();
  }
  return found;
}

/// Trends of two cases over three runs, one of a case that is not in the report any more.
Json two_trends(const std::string& id) {
  const auto trend = [](const std::string& of, double factor) {
    Json points = Json::array();
    for (const int run : {1, 2, 3}) {
      points.push_back({{"run", run},
                        {"added_on", "2026-03-01T12:00:00Z"},
                        {"commit", "1a2b3c"},
                        {"label", "<b>nightly</b>"},
                        {"value", factor * run}});
    }
    return Json{{"id", of},           {"machine", "cafe0123"}, {"processor", "Test <CPU>"}, {"metric", "time_median_s"},
                {"unit", "s"},        {"points", points},      {"center", 2 * factor},      {"low", factor},
                {"high", factor * 3}, {"verdict", "usual"}};
  };
  return Json::array({trend(id, 1e-3), trend("variant=gone", 2e-3)});
}

Json outcome_of(const std::filesystem::path& program, const ResultSet& results, int width, bool without_plotly = false,
                const Json& history = nullptr, const char* checks = "checks.js") {
  const tests::TempDir folder;
  DiskFiles files;
  files.write(folder / "report.html", with_checks(report_html(results, history), without_plotly, checks));
  const tests::PageOutcome page = tests::load_page(program, folder / "report.html", width, 2000);
  INFO(page.console);
  REQUIRE_FALSE(page.message.empty());
  CHECK(page.console.empty());
  Json out = parse_json(page.message, "what the page told");
  CHECK(out["errors"] == Json::array());
  CHECK(out["resources"] == Json::array());
  CHECK(out["pwned"] == false);
  return out;
}

/// Rows of CSV text, by the names in its first line.
std::vector<std::map<std::string, std::string>> rows_of(const Json& text) {
  const tests::TempDir folder;
  DiskFiles files;
  files.write(folder / "table.csv", text.get<std::string>());
  return tests::csv_rows(folder / "table.csv");
}

void check_near(const Json& values, std::vector<double> expected) {
  std::vector<double> found = values.get<std::vector<double>>();
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
  }
}

template <class Chart>
void check_points(const Json& picture, const Chart& chart) {
  std::vector<double> x;
  std::vector<double> y;
  for (const ChartPoint& point : chart.points) {
    x.push_back(point.x);
    y.push_back(point.y);
  }
  check_near(picture["x"], x);
  check_near(picture["y"], y);
  CHECK(picture["shapes"] == chart.points.size());
}

void check_charts(const Json& out, const ResultSet& results) {
  const Json& charts = out["charts"];
  check_points(charts["roofline"], roofline_chart(results));
  check_points(charts["throughput"], throughput_chart(results));
  std::vector<double> cache;
  std::vector<double> ladder;
  std::size_t in_phases = 0;
  for (const profilers::Record& record : results.records) {
    if (record.totals->kv_cache_bytes > 0) {
      cache.push_back(static_cast<double>(record.totals->kv_cache_bytes.value()));
      ++in_phases;
    }
    ladder.push_back(static_cast<double>(record.totals->compulsory_bytes.value()));
    ladder.push_back(static_cast<double>((record.totals->bytes_read + record.totals->bytes_written).value()));
  }
  check_near(charts["cache"]["y"], cache);
  check_near(charts["bytes"]["x"], ladder);
  CHECK(charts["phases"]["shapes"] == in_phases);
  CHECK(charts["samples"]["shapes"] == 3);
  // A bar of three classes for each measured case; each bar is 100 % long.
  CHECK(charts["kernels"]["bar_shapes"] == 3 * 14);
  double whole = 0.0;
  for (const Json& part : charts["kernels"]["bars"]) {
    whole += part.get<double>();
  }
  CHECK(whole == Approx(100.0 * 14));
}

void check_use(const Json& out, const ResultSet& results) {
  const std::vector<std::string> names = short_names(results.records);
  CHECK(out["names"] == names);
  // Sorted by work: absent values last, in both directions.
  const auto work = [&](const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return results.records[static_cast<std::size_t>(at - names.begin())].totals->work.flops().value();
  };
  const auto rows = rows_of(out["sorted_down"]);
  REQUIRE(rows.size() == results.records.size());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(work(rows[i - 1].at("case")) >= work(rows[i].at("case")));
  }
  CHECK(out["sort_mark"] == "descending");
  const auto up = out["sorted_up"].get<std::vector<std::string>>();
  for (std::size_t i = 1; i < up.size(); ++i) {
    CHECK(work(up[i - 1]) <= work(up[i]));
  }
  CHECK(out["without_eager"]["roofline"]["shapes"] == 4);
  CHECK(out["without_eager"]["rows"] == 4);
  CHECK_THAT(out["without_eager"]["said"].get<std::string>(), Contains("4 of 15 cases"));
  CHECK(out["words_too"]["roofline"]["shapes"] == 2);
  CHECK(out["nothing"]["rows"] == 0);
  CHECK_THAT(out["nothing"]["said"].get<std::string>(), Contains("No case can be drawn"));
  CHECK(out["all_again"]["shapes"] == 14);
  CHECK_FALSE(out["tooltip"].get<std::string>().empty());
  CHECK(out["selected"].is_string());
  CHECK(out["launches"] == 3);
  CHECK(out["closed"] == true);
  CHECK(out["paper"]["light"] == true);
  if (out["drawer"] == "plotly") { // the plain drawing is as wide as the paper by itself
    CHECK(out["paper"]["width"].get<double>() <= 720);
  }
  for (const auto& [name, twin] : out["twins"].items()) {
    INFO(name);
    CHECK(twin["rows"].get<int>() > 0);
    CHECK_FALSE(rows_of(twin["csv"]).empty());
  }
  CHECK(rows_of(out["twins"]["roofline-table"]["csv"]).size() == 14);
}

} // namespace

TEST_CASE("the report in a browser: charts hold the records, filters, sorting, keys and tables work", "[browser]") {
  const auto program = browser();
  if (!program) {
    return;
  }
  const ResultSet results = many_cases();
  for (const int width : {1280, 390}) {
    INFO("width " << width);
    const Json out = outcome_of(*program, results, width, false, two_trends(results.records[0].id));
    check_near(out["charts"]["history"]["y"], {1e-3, 2e-3, 3e-3, 2e-3, 4e-3, 6e-3});
    CHECK(out["overflow"].get<int>() <= 0); // nothing but tables scrolls sideways
    check_charts(out, results);
    check_use(out, results);
    for (const char* id : {"s-phases", "s-cache", "s-bytes", "s-stability"}) {
      CHECK(std::find(out["sections"].begin(), out["sections"].end(), id) != out["sections"].end());
    }
    for (const auto& [name, chart] : out["charts"].items()) {
      INFO(name);
      CHECK(chart["width"].get<double>() <= chart["room"].get<double>() + 1.0);
    }
  }
}

TEST_CASE("the report in a browser: the plain drawing shows the same where there is no plotly", "[browser]") {
  const auto program = browser();
  if (!program) {
    return;
  }
  const ResultSet results = many_cases();
  const Json out = outcome_of(*program, results, 1280, true);
  CHECK(out["drawer"] == "svg");
  check_charts(out, results);
  check_use(out, results);
}

TEST_CASE("the report in a browser: no case, one case", "[browser]") {
  const auto program = browser();
  if (!program) {
    return;
  }
  const Json none = outcome_of(*program, ResultSet{}, 390);
  CHECK(none["charts"]["roofline"].is_null());
  ResultSet one;
  one.machine = spread_machine();
  one.records = {tests::measured_record()};
  derive(one.records[0], *one.machine);
  const Json out = outcome_of(*program, one, 390);
  CHECK(out["charts"]["roofline"]["shapes"] == 1);
  CHECK(out["charts"]["throughput"]["shapes"] == 1);
  CHECK(out["charts"]["phases"].is_null());
  CHECK(out["selected"].is_string());
}

TEST_CASE("the report in a browser: thousands of cases are looked at a few times each, and drawn in part",
          "[browser]") {
  const auto program = browser();
  if (!program) {
    return;
  }
  ResultSet results = many_cases();
  const std::vector<profilers::Record> few = results.records;
  for (std::int64_t copy = 1; results.records.size() < 4000; ++copy) {
    for (profilers::Record record : few) {
      record.config.set("dim", 192 + copy); // a path of its own
      record.id += fmt::format(":dim={}", 192 + copy);
      results.records.push_back(std::move(record));
    }
  }
  const Json out = outcome_of(*program, results, 1280, false, nullptr, "large.js");
  CHECK(out["cases"] == results.records.size());
  for (const auto& [section, looks] : out["looks"].items()) {
    INFO(section);
    CHECK(looks.get<double>() < 100.0); // each column of a table, a few times
  }
  CHECK(out["elements"].get<int>() < 40'000);
  CHECK(out["rows"] == 100); // of the longest table: the others are on further pages
  for (const char* note : {"phases-note", "cache-note", "bytes-note", "kernels-note"}) {
    INFO(note);
    CHECK_THAT(out["notes"][note].get<std::string>(), Contains("filter to see others"));
  }
}

TEST_CASE("the report in a browser: pictures of it, wide and narrow, light and dark", "[browser]") {
  const auto program = browser();
  if (!program) {
    return;
  }
  const std::filesystem::path folder = std::filesystem::path(tests::binary()).parent_path() / "artefacts";
  DiskFiles files;
  files.make_directory(folder);
  files.write(folder / "report.html", report_html(many_cases()));
  for (const auto& [width, dark] : {std::pair(1280, false), std::pair(390, true)}) {
    const std::filesystem::path picture = folder / fmt::format("report-{}-{}.png", width, dark ? "dark" : "light");
    tests::picture_page(*program, folder / "report.html", width, 5000, dark, picture);
    CHECK(std::filesystem::file_size(picture) > 50'000); // an empty page has a few thousand bytes
  }
}
