#include "operators/core/error.hpp"
#include "profilers/machine_json.hpp"
#include "reports/assets.hpp"
#include "reports/charts.hpp"
#include "reports/derive.hpp"
#include "reports/record_file.hpp"
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"
#include "reports/writers/csv.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/html.hpp"
#include "reports/writers/html_payload.hpp"
#include "reports/writers/junit.hpp"
#include "reports/writers/markdown.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/reports_records.hpp"

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <regex>

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

profilers::Machine small_machine() {
  profilers::Machine machine;
  machine.fingerprint = "cafe0123";
  machine.environment.cpu_model = "Test <CPU> & co";
  machine.environment.cores = 2;
  for (const int threads : {1, 2}) {
    machine.compute.push_back({"fma", "f32", "avx2", threads, 50e9 * threads, 0, 0});
    machine.compute.push_back({"exp", "f32", "avx2", threads, 0.5e9 * threads, 0, 0});
    machine.bandwidth.push_back({"L2", "read", threads, 100e9 * threads, 0, 0, 0});
    machine.bandwidth.push_back({"DRAM", "read", threads, 10e9 * threads, 0, 0, 0});
    machine.levels.push_back({"L2", threads, 500'000 * threads, "curve"});
    machine.levels.push_back({"DRAM", threads, {}, "curve"});
  }
  return machine;
}

profilers::Record failed_record() {
  profilers::Record record = tests::counted_record("</script><script>alert(1)</script>");
  record.id = "variant=</script><script>alert(1)</script>|mha<fp16>&\"x\"'";
  record.status = profilers::Status::kFailed;
  record.reason = "threw 'bad <thing>' | with a pipe\nand a second line";
  return record;
}

ResultSet small_results() {
  ResultSet results;
  results.machine = small_machine();
  results.records = {tests::measured_record("mha"), tests::measured_record("gqa"), failed_record()};
  for (profilers::Record& record : results.records) {
    derive(record, *results.machine);
  }
  return results;
}

/// What stands between the tags of the embedded JSON.
std::string embedded_json(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = html.find(open);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = html.find("</script>", begin);
  return html.substr(begin + open.size(), end - begin - open.size());
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

PlotRunner no_plot() {
  return [](const std::filesystem::path&, const Figure&) { return std::vector<std::string>(); };
}

/// The page without plotly's script, whose comments and names of markup languages hold addresses.
std::string without_plotly(std::string html) {
  const std::size_t at = plotly_script().empty() ? std::string::npos : html.find(plotly_script());
  return at == std::string::npos ? html : html.erase(at, plotly_script().size());
}

} // namespace

TEST_CASE("a run directory is loaded, rendered and rendered again to the same bytes") {
  tests::FakeFiles files;
  files.folders = {"run"};
  std::string lines;
  for (const profilers::Record& record : small_results().records) {
    lines += record_line(record) + "\n";
  }
  files.texts["run/records.jsonl"] = lines + "{\"torn";
  files.texts["run/machine.json"] = profilers::machine_to_json(small_machine()).dump(2) + "\n";
  const ResultSet first = load_results(files, "run");
  CHECK(first.records.size() == 3);
  REQUIRE(first.notes.size() == 1);
  CHECK_THAT(first.notes[0], Contains("line 4"));
  REQUIRE(first.machine);
  CHECK(write_views(files, first, "run", no_plot()) ==
        std::vector<std::string>{"results.csv", "kernels.csv", "summary.md", "report.html", "machine.json",
                                 "roofline.gnuplot", "throughput.gnuplot"});
  const auto rendered = files.texts;
  write_views(files, load_results(files, "run"), "run", no_plot());
  CHECK(files.texts == rendered);
  CHECK(files.texts["run/results.csv"] == results_csv(small_results().records));
  CHECK(files.texts["run/machine.json"] == profilers::machine_to_json(small_machine()).dump(2) + "\n");
}

TEST_CASE("loading takes a folder, a records file or a document, and names what is wrong") {
  tests::FakeFiles files;
  files.folders = {"empty"};
  CHECK_THROWS_WITH(load_results(files, "empty"), Contains("empty") && Contains("records.jsonl"));
  CHECK_THROWS_WITH(load_results(files, "/nonexistent/run"), Contains("/nonexistent/run"));
  files.texts["a/records.jsonl"] = record_line(tests::measured_record()) + "\n";
  const ResultSet lines = load_results(files, "a/records.jsonl");
  CHECK(lines.records.size() == 1);
  CHECK_FALSE(lines.machine);
  CHECK_THAT(lines.notes.at(0), Contains("machine.json"));
  files.texts["a/machine.json"] = "{}";
  CHECK_THAT(load_results(files, "a/records.jsonl").notes.at(0), Contains("a/machine.json is not used"));
  files.texts["run.json"] = json_text(cases_document(small_results().records));
  CHECK(load_results(files, "run.json").records.size() == 3);
  files.texts["bad.json"] = R"({"schema_version": 7, "cases": []})";
  CHECK_THROWS_WITH(load_results(files, "bad.json"), Contains("bad.json") && Contains("7"));
}

TEST_CASE("records of another machine keep their roofs") {
  tests::FakeFiles files;
  files.folders = {"run"};
  profilers::Record own = tests::measured_record("mha");
  profilers::Record other = tests::measured_record("gqa");
  other.machine_fingerprint = "0123456789abcdef";
  derive(own, tests::round_roofs());
  derive(other, tests::round_roofs());
  files.texts["run/records.jsonl"] = record_line(own) + "\n" + record_line(other) + "\n";
  profilers::Machine faster = small_machine();
  for (profilers::BandwidthCeiling& ceiling : faster.bandwidth) {
    ceiling.bytes_per_s *= 2.0;
  }
  files.texts["run/machine.json"] = profilers::machine_to_json(faster).dump();
  const ResultSet results = load_results(files, "run");
  CHECK(*results.records[1].roof.roof_time_s == *other.roof.roof_time_s);
  CHECK(*results.records[0].roof.roof_time_s != *own.roof.roof_time_s);
}

TEST_CASE("figures are written where a plotter works") {
  tests::FakeFiles files;
  std::vector<std::string> scripts;
  const PlotRunner plot = [&](const std::filesystem::path& folder, const Figure& figure) {
    CHECK(folder == "run");
    scripts.push_back(figure.script);
    return std::vector<std::string>{figure.name + ".svg"};
  };
  const auto written = write_views(files, small_results(), "run", plot);
  REQUIRE(scripts.size() == 2);
  CHECK(written.back() == "throughput.svg");
  CHECK(files.texts["run/roofline.gnuplot"] == scripts[0]);
  CHECK_THAT(scripts[0], Contains("set output 'roofline.svg'") && Contains("title 'mha'") && Contains("title 'gqa'"));
  CHECK_THAT(scripts[0], Contains("set output 'roofline.png'") && Contains("set output 'roofline.pdf'"));
  CHECK_THAT(scripts[0], Contains("pointtype 7") && !Contains("pointtype 6")); // one plan: nothing is hollow
  ResultSet none = small_results();
  none.records.resize(0);
  CHECK(roofline_gnuplot(none).empty());
  CHECK(throughput_gnuplot(none).empty());
}

TEST_CASE("BUG-102: axes hold the points, both parts of the roof and the ridge in every case") {
  for (const double scale : {1e-3, 1.0, 1e3}) {
    for (const std::size_t cases : {std::size_t{1}, std::size_t{3}}) {
      ResultSet results = small_results();
      results.records.resize(1);
      for (std::size_t i = 0; i < cases; ++i) {
        profilers::Record record = tests::measured_record();
        record.totals->work.macs = static_cast<std::int64_t>(1e6 * scale);
        record.measured->time_median_s = 1e-4 * static_cast<double>(i + 1);
        results.records.push_back(record);
      }
      results.records.erase(results.records.begin());
      const RooflineChart chart = roofline_chart(results);
      REQUIRE(chart.points.size() == cases);
      REQUIRE(chart.roofs.size() == 1);
      const double peak = chart.roofs[0].roofs.matrix->per_s;
      const double ridge = peak / chart.roofs[0].roofs.memory.back().bytes_per_s;
      CHECK((chart.x.low < ridge && ridge < chart.x.high));
      CHECK((chart.y.low < peak && peak < chart.y.high));
      for (const ChartPoint& point : chart.points) {
        CHECK((chart.x.low < point.x && point.x < chart.x.high));
        CHECK((chart.y.low < point.y && point.y < chart.y.high));
      }
    }
  }
}

TEST_CASE("BUG-100, BUG-101: what cannot be drawn is listed with its reason") {
  ResultSet results = small_results();
  profilers::Record no_flops = tests::measured_record("identity");
  no_flops.totals->work = {};
  profilers::Record no_bytes = tests::measured_record("x");
  no_bytes.totals->bytes_read = no_bytes.totals->bytes_written = 0;
  profilers::Record no_time = tests::measured_record("y");
  no_time.measured->time_median_s = 0.0;
  results.records = {no_flops, no_bytes, no_time, failed_record(), tests::counted_record("z")};
  const RooflineChart chart = roofline_chart(results);
  CHECK(chart.points.empty());
  REQUIRE(chart.not_drawn.size() == 5);
  CHECK(chart.not_drawn[0].reason == "0 FLOPs");
  CHECK(chart.not_drawn[1].reason == "0 bytes");
  CHECK(chart.not_drawn[2].reason == "the time is 0");
  CHECK_THAT(chart.not_drawn[3].reason, Contains("failed: threw"));
  CHECK(chart.not_drawn[4].reason == "not measured");
  CHECK(throughput_chart(results).points.size() == 1); // 0 bytes is no obstacle to throughput
  CHECK_THAT(script_safe_json(html_payload(results).json), Contains("\"why\":\"0 FLOPs\""));
}

TEST_CASE(
    "the page is one file without outside resources (BUG-184) and no text can break out of it (BUG-182, BUG-183)") {
  const std::string html = without_plotly(report_html(small_results()));
  CHECK_FALSE(std::regex_search(html, std::regex("(src|href)\\s*=\\s*[\"']?(https?:)?//")));
  CHECK_FALSE(std::regex_search(html, std::regex("url\\((?!#)|@import|https?://")));
  const std::size_t scripts = plotly_script().empty() ? 2 : 3;
  CHECK(count_of(html, "<script") == scripts);
  CHECK(count_of(html, "</script>") == scripts);
  CHECK(count_of(std::string(plotly_script()), "</script") == 0);
  CHECK_THAT(html, !Contains("alert(1)</script>") && Contains("Test &lt;CPU&gt; &amp; co"));
  const Json json = parse_json(embedded_json(html), "page");
  CHECK(json["rows"].size() == 3);
  bool found = false;
  for (std::size_t i = 0; i < json["columns"].size(); ++i) {
    if (json["columns"][i]["name"] == "id") {
      found = json["rows"][2][i] == failed_record().id;
    }
  }
  CHECK(found);
}

TEST_CASE("the page holds summaries: columns that differ, constants once, no samples") {
  const Json json = parse_json(embedded_json(report_html(small_results())), "page");
  CHECK(json["constants"]["batch"] == 2);
  CHECK_FALSE(json.contains("samples_s"));
  for (const Json& row : json["rows"]) {
    CHECK(row.size() == json["columns"].size());
  }
  CHECK(json["kernels"][0].size() == 3);
  CHECK(json["texts"][json["kernels"][0][1][1].get<std::size_t>()] == "softmax");
  CHECK(json["series"].size() == 3);
  CHECK(json["roofs"][0]["levels"].size() == 2);
  CHECK(json["glossary"].size() > 60);
}

TEST_CASE("what the charts of the page draw is derived before it gets there") {
  ResultSet results = small_results();
  results.records[0].measured->stability = profilers::Stability::kStable;
  results.records[1].config.set("plan", std::string("fused"));
  results.records[1].config.set("variant", std::string("mha"));
  results.records[1].measured->stability = profilers::Stability::kStable;
  results.records[1].measured->time_median_s = 100e-6;
  results.records[1].measured->samples_s.assign(250, 100e-6);
  results.records[1].measured->samples_s[3] = 150e-6;
  results.records[1].measured->conditions.assign(250, {});
  results.records[1].measured->conditions[6].steal_s = 0.01;
  results.machine->compute[2] = {"fma", "f32", "avx2", 2, 100e9, 90e9, 101e9};
  const Json json = html_payload(results).json;
  CHECK(json["plan_pairs"] == Json::parse("[[0, 1]]"));
  CHECK(json["fronts"] == Json::parse(R"([{"item": "token", "cases": [1]}])")); // equal work: the faster one
  CHECK(json["classes"]["copy"] == "copies");
  CHECK(json["cases"][0]["passes"] == 1);
  CHECK(json["families"].size() == 2); // of one plan each
  CHECK(json["ladder"][0]["column"] == "compulsory_bytes");
  CHECK(json["roofs"][0]["units"][0]["low"] == 90e9);
  CHECK(json["roofs"][0]["levels"][0]["low"].is_null()); // the machine file says nothing of it
  CHECK(json["samples"][0]["step"] == 1);
  CHECK(json["samples"][0]["times"] == Json::parse("[10000, 9929, 10204]"));
  CHECK(json["samples"][0]["disturbed"] == Json::parse("[1, 2]")); // page faults, steal
  CHECK(json["samples"][1]["step"] == 3);
  CHECK(json["samples"][1]["times"].size() == 84);
  CHECK(json["samples"][1]["times"][1] == 15000);
  CHECK(json["samples"][1]["disturbed"] == Json::parse("[2]"));
  CHECK(json["samples"][2].is_null());
}

TEST_CASE("BUG-185: 500 deep cases stay under 4 MB, 10000 cases under 10 MB, and the page says what it left out") {
  const ResultSet small = small_results();
  const auto repeated = [&](int blocks, int parts) {
    profilers::Record record = small.records[0];
    const std::vector<profilers::LaunchRecord> block = record.launches;
    record.launches.clear();
    for (int i = 0; i < blocks * parts; ++i) {
      for (profilers::LaunchRecord launch : block) {
        launch.cost.scope = fmt::format("block{}/mixer/{}{}", i / parts, launch.cost.scope, i % parts);
        record.launches.push_back(launch);
      }
    }
    record.measured->samples_s.assign(100, 1.0 / 7000.0);
    derive(record, *small.machine);
    return record;
  };
  const auto page = [&](std::size_t count, const profilers::Record& form) {
    ResultSet results;
    results.machine = small.machine;
    results.records.assign(count, form);
    for (std::size_t i = 0; i < count; ++i) {
      profilers::Record& record = results.records[i];
      record.config.set("seq_len", static_cast<std::int64_t>(i + 1));
      record.id = fmt::format("variant=mha:batch=2:dim=192:heads=3:head_dim=64:dtype=f32:plan=eager:seq_len={}", i + 1);
      record.measured->time_median_s = 1.23456789e-4 * (1.0 + static_cast<double>(i) * 0.37);
      record.measured->time_mad_s = 1.7654321e-6 * (1.0 + static_cast<double>(i) * 0.41);
    }
    return report_html(results);
  };
  CHECK(page(500, repeated(12, 6)).size() < 4'000'000);
  const std::string large = page(10'000, repeated(1, 2));
  CHECK(large.size() < 10'000'000);
  CHECK_THAT(large, Contains("With 10000 cases this page holds the main columns only") && Contains("kernels.csv"));
}

TEST_CASE("the embedded files are those of reports/assets") {
  const auto file = [](const std::string& name) {
    std::ifstream stream(tests::source_dir() / "reports" / "assets" / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  };
  CHECK((report_template() == file("report.html")));
  CHECK((report_style() == file("report.css")));
  std::size_t length = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_dir() / "reports" / "assets")) {
    if (entry.path().extension() == ".js") {
      INFO(entry.path());
      const std::string text = file(entry.path().filename());
      CHECK((report_script().find(text) != std::string_view::npos));
      length += text.size();
    }
  }
  CHECK(report_script().size() == length);
}

TEST_CASE("the page has heads for people, each for a column that exists") {
  const std::string script(report_script());
  const std::size_t begin = script.find("heads_of_columns = {");
  REQUIRE(begin != std::string::npos);
  const std::string table = script.substr(begin, script.find('}', begin) - begin);
  const std::regex entry("([a-z_]+): \"([^\"]+)\"");
  std::size_t count = 0;
  for (std::sregex_iterator at(table.begin(), table.end(), entry); at != std::sregex_iterator(); ++at) {
    CHECK_NOTHROW(case_column((*at)[1].str()));
    CHECK((*at)[2].str().find('_') == std::string::npos);
    ++count;
  }
  CHECK(count >= 10);
}

TEST_CASE("the summary says host, verdict, cases, slowest kernels and failures, and escapes what it prints") {
  const std::string text = summary_markdown(small_results());
  CHECK_THAT(text, Contains("**Host:** Test &lt;CPU&gt; &amp; co, 2 threads usable"));
  CHECK_THAT(text, Contains("**Verdict:** Memory bandwidth bounds most of the launch time of 2 of 2 cases (DRAM 2)."));
  CHECK_THAT(text, Contains("| variant | time | ± |"));
  CHECK_THAT(text, Contains("| mha | 140 us | 1.4 % | 2.05 MFLOP | 14.6 GFLOP/s | 2.80 M tokens/s | 0.9404 |"));
  CHECK_THAT(text, Contains("## Slowest kernels") && Contains("| merge | copy |"));
  CHECK_THAT(text, Contains("| failed | threw 'bad &lt;thing&gt;' \\| with a pipe and a second line |"));
  CHECK_THAT(text, Contains("matrix products (fma f32 avx2, 2 threads): 100 GFLOP/s, measured"));
}

TEST_CASE("exponentials are counted a second, and are no roof of the FLOP axis") {
  const ResultSet results = small_results();
  CHECK_THAT(summary_markdown(results), Contains("exponentials (exp f32 avx2, 2 threads): 1.00 Gexp/s, measured"));
  CHECK_THAT(roofline_gnuplot(results), !Contains("exp f32"));
  const Json json = parse_json(embedded_json(report_html(results)), "page");
  REQUIRE(json["roofs"][0]["units"].size() >= 1);
  for (const Json& unit : json["roofs"][0]["units"]) {
    CHECK(unit["bound"] != "transcendental");
  }
}

TEST_CASE("roofs are drawn for the mix of the cases and name their traffic") {
  ResultSet results = small_results();
  for (const int threads : {1, 2}) {
    results.machine->bandwidth.push_back({"DRAM", "write_nt", threads, 90e9, 0, 0, 0});
  }
  CHECK_THAT(summary_markdown(results), Contains("DRAM read: 20.0 GB/s") && !Contains("90.0 GB/s"));
  CHECK_THAT(roofline_gnuplot(results), Contains("'DRAM read 20.0 GB/s'"));
}

TEST_CASE("equal warnings stand once, with their cases") {
  ResultSet results = small_results();
  results.records = std::vector<profilers::Record>(5, tests::measured_record());
  for (std::size_t i = 0; i < results.records.size(); ++i) {
    results.records[i].config.set("seq_len", static_cast<std::int64_t>(i));
    results.records[i].warnings = {fmt::format("{} of 57 samples are outliers; all are kept", i + 1)};
  }
  results.records[4].warnings.emplace_back("the governor is powersave");
  const std::string text = summary_markdown(results);
  CHECK_THAT(text,
             Contains("- 5 cases: 1 of 57 samples are outliers; all are kept; numbers of the first (mha seq_len=0, "
                      "mha seq_len=1, mha seq_len=2, and 2 more)\n- mha seq_len=4: the governor is powersave\n"));
  const Json json = parse_json(embedded_json(report_html(results)), "page");
  CHECK(json["warnings"].size() == 2);
  results.records.resize(2);
  results.records[1].warnings = results.records[0].warnings;
  CHECK_THAT(summary_markdown(results), Contains("- 2 cases: 1 of 57 samples are outliers; all are kept (mha"));
}

TEST_CASE("JUnit: failures fail, what could not run is skipped, and names are escaped") {
  ResultSet results = small_results();
  profilers::Record skipped = tests::counted_record("big");
  skipped.status = profilers::Status::kSkipped;
  skipped.reason = "needs 4 GB";
  results.records.push_back(skipped);
  const std::string xml = junit_xml(results);
  CHECK_THAT(xml, Contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""));
  CHECK(count_of(xml, "<testcase") == 4);
  CHECK_THAT(xml, Contains("time=\"0.00014\""));
  CHECK_THAT(xml, Contains("&lt;/script&gt;") && Contains("type=\"failed\""));
  CHECK_THAT(xml, Contains("<skipped message=\"skipped: needs 4 GB\"/>"));
}

TEST_CASE("gnuplot scripts quote what they print and do not depend on the order of anything") {
  ResultSet results = small_results();
  results.records[0].config.set("variant", std::string("it's"));
  const std::string script = roofline_gnuplot(results);
  CHECK_THAT(script, Contains("title 'it''s'"));
  CHECK(script == roofline_gnuplot(results));
  results.records[1].config.set("plan", std::string("fused"));
  CHECK_THAT(roofline_gnuplot(results), Contains("pointtype 6 pointsize 1.1 linecolor rgb '#0072B2' title 'it''s'") &&
                                            Contains("title 'gqa'") && Contains("title 'hollow: eager'"));
  CHECK_THAT(throughput_gnuplot(results), Contains("set xlabel 'work (FLOP per token)'"));
  CHECK_THAT(script, Contains("set xlabel 'intensity (FLOP/B)'") && Contains("set ylabel 'rate (FLOP/s)'"));
}
