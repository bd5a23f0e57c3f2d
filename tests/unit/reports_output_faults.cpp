// Faults that other tools' outputs have: units, spelling, numbers for machines, and text that breaks its format.
#include "reports/console.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"
#include "reports/schema.hpp"
#include "reports/writers/csv.hpp"
#include "reports/writers/gbench.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/html.hpp"
#include "reports/writers/junit.hpp"
#include "reports/writers/markdown.hpp"
#include "reports/writers/trace.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_csv_reader.hpp"
#include "tests/unit/reports_records.hpp"

#include <charconv>
#include <regex>

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

ResultSet results_of(std::vector<profilers::Record> records) {
  ResultSet out;
  for (profilers::Record& record : records) {
    derive(record, tests::round_roofs());
  }
  out.records = std::move(records);
  return out;
}

/// Every view by name.
std::vector<std::pair<std::string, std::string>> views_of(const ResultSet& results) {
  return {{"results.csv", results_csv(results.records)},
          {"kernels.csv", kernels_csv(results.records)},
          {"summary.md", summary_markdown(results)},
          {"report.html", report_html(results)},
          {"junit.xml", junit_xml(results)},
          {"gbench.json", gbench_json(results)},
          {"cases.json", json_text(cases_document(results.records))},
          {"table",
           result_table(results.records) + kernel_table(results.records.front()) + cost_table(results.records.front())},
          {"throughput.gnuplot", throughput_gnuplot(results)}};
}

/// What the page shows, without the scripts that draw it.
std::string page_figures(const std::string& page) {
  const std::size_t begin = page.find("id=\"report\">");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("</script>", begin) - begin);
}

const std::string kNasty =
    "a<b>&\"c\" 'd',e|f</script><script>alert(1)</script>\nnext line \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";

/// Well-formed as far as this program's own markup goes: entities, quotes and tags are closed.
void check_xml(const std::string& text) {
  bool in_tag = false;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      CHECK(c != '<');
      CHECK(c != '\n');
      quoted = c != '"';
    } else if (in_tag) {
      CHECK(c != '<');
      quoted = c == '"';
      in_tag = c != '>';
    } else {
      in_tag = c == '<';
      CHECK(c != '>');
    }
    if (c == '&') {
      const std::string entity = text.substr(i, text.find(';', i) - i + 1);
      CHECK(std::regex_match(entity, std::regex("&(amp|lt|gt|quot|#[0-9]+);")));
    }
  }
  CHECK_FALSE(in_tag);
  CHECK_FALSE(quoted);
}

} // namespace

TEST_CASE("BUG-108: every number has its unit: in the heads of tables, and in the column table for files") {
  const ResultSet results = results_of({tests::measured_record(), tests::measured_record("gqa")});
  CHECK_THAT(cost_table(results.records.front()), Contains("FLOP/B"));
  CHECK_THAT(summary_markdown(results),
             Contains("intensity (FLOP/B)") && Contains("FLOP/s") && Contains("work (FLOP)"));
  CHECK_THAT(report_html(results), Contains("FLOP/B") && Contains("FLOP/s") && Contains("B/s"));
  for (const CaseColumn& column : case_columns()) {
    const ColumnSpec& spec = column.spec;
    if (spec.type == Type::kReal && spec.group != Group::kConfig) {
      INFO(spec.name);
      CHECK_FALSE(spec.unit.empty());
      CHECK_THAT(columns_markdown(), Contains("`" + spec.name + "`"));
    }
  }
}

TEST_CASE("BUG-191: FLOP for counts, FLOP/s for rates, in one spelling") {
  const ResultSet results = results_of({tests::measured_record(), tests::measured_record("gqa")});
  const std::regex mixed("[kMGTPE]FLOPs|[kMGTPE]?FLOPS\\b|FLOPs/s|[kMGTPE]FLOPs/s|[kMGTPE]flops\\b");
  for (const auto& [name, text] : views_of(results)) {
    INFO(name);
    std::smatch found;
    const std::string own = name == "report.html" ? page_figures(text) : text;
    CHECK_FALSE(std::regex_search(own, found, mixed));
    if (!found.empty()) {
      UNSCOPED_INFO(found.str());
    }
  }
}

TEST_CASE("BUG-204: numbers for machines are plain, the header stands once, and writing again replaces") {
  const ResultSet results = results_of({tests::measured_record(), tests::counted_record("gqa")});
  tests::FakeFiles files;
  write_views(files, results, "run", {});
  const std::string first = files.texts["run/results.csv"];
  write_views(files, results, "run", {});
  CHECK(files.texts["run/results.csv"] == first);
  const auto rows = tests::rows_by_name(first);
  REQUIRE(rows.size() == 2); // and not one that repeats the header
  std::size_t numbers = 0;
  for (const auto& row : rows) {
    for (const CaseColumn& column : case_columns()) {
      const std::string& text = row.at(column.spec.name);
      if (text.empty() || (column.spec.type != Type::kInteger && column.spec.type != Type::kReal)) {
        continue;
      }
      INFO(column.spec.name << " = " << text);
      ++numbers;
      double value = 0;
      const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      CHECK(error == std::errc());
      CHECK(rest == text.data() + text.size());
      if (column.spec.type == Type::kInteger) {
        CHECK(text.find_first_not_of("-0123456789") == std::string::npos);
      }
    }
  }
  CHECK(numbers > 40);
}

TEST_CASE("BUG-176: one sample has no spread, and no view makes one up") {
  profilers::Record record = tests::measured_record();
  record.measured->samples_s = {140e-6};
  record.measured->conditions.resize(1);
  record.measured->time_ci_low_s.reset();
  record.measured->time_ci_high_s.reset();
  record.measured->time_mad_s.reset();
  record.measured->stability.reset();
  const ResultSet results = results_of({record});
  for (const auto& [name, text] : views_of(results)) {
    INFO(name);
    const std::string own = name == "report.html" ? page_figures(text) : text;
    CHECK_FALSE(std::regex_search(own, std::regex("\\b(nan|NaN|inf|Infinity)\\b")));
  }
  const auto row = tests::rows_by_name(results_csv(results.records)).front();
  CHECK(row.at("time_mad_s").empty());
  CHECK(row.at("time_ci_low_s").empty());
  CHECK(row.at("stability").empty());
  CHECK(row.at("samples") == "1");
}

TEST_CASE("BUG-177, BUG-182, BUG-183: a nasty name survives every format and escapes from none") {
  profilers::Record record = tests::measured_record();
  record.id = kNasty;
  record.warnings = {kNasty};
  record.launches[0].cost.scope = kNasty;
  profilers::Record failed = tests::counted_record("gqa");
  failed.id = kNasty + "2";
  failed.status = profilers::Status::kFailed;
  failed.reason = kNasty;
  const ResultSet results = results_of({record, failed});

  const auto rows = tests::rows_by_name(results_csv(results.records));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("id") == kNasty);
  CHECK(rows[1].at("reason") == kNasty);
  CHECK(tests::rows_by_name(kernels_csv(results.records))[0].at("scope") == kNasty);

  const Json cases = parse_json(json_text(cases_document(results.records)), "cases");
  CHECK(cases["cases"][0]["id"] == kNasty);
  CHECK(record_from_line(record_line(record)).id == kNasty);
  CHECK(parse_json(gbench_json(results), "gbench")["benchmarks"][0]["name"] == kNasty);
  CHECK_THAT(trace_json(results.records), Contains("</script>")); // JSON of its own, in no page
  CHECK(parse_json(trace_json(results.records), "trace")["traceEvents"][0]["args"]["name"] == kNasty);

  const std::string junit = junit_xml(results);
  CHECK_THAT(junit,
             Contains("a&lt;b&gt;&amp;&quot;c&quot; &#39;d&#39;,e|f&lt;/script&gt;") && Contains("&#10;next line"));
  check_xml(junit.substr(junit.find("?>") + 2));

  const std::string page = report_html(results);
  CHECK_THAT(page, !Contains("<script>alert(1)") && !Contains("a<b>"));
  CHECK_THAT(summary_markdown(results), !Contains("<script>") && !Contains("\nnext line"));
}

TEST_CASE("markup: bytes that are not UTF-8 and characters that XML forbids are replaced") {
  CHECK(escape_markup("a\xFF"
                      "b") == "a\xEF\xBF\xBD"
                              "b");
  CHECK(escape_markup("\xC3") == "\xEF\xBF\xBD");                         // cut off
  CHECK(escape_markup("\xED\xA0\x80").find('\xED') == std::string::npos); // a surrogate
  CHECK(escape_markup("\xC0\xAF").find('\xC0') == std::string::npos);     // longer than need be
  CHECK(escape_markup(std::string("\x01\x1F", 2)) == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(escape_markup("\xEF\xBF\xBE") != "\xEF\xBF\xBE"); // U+FFFE is no character
  CHECK(escape_markup("\xE2\x82\xAC \xF0\x9F\x98\x80") == "\xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(escape_markup("a\tb\r\n") == "a&#9;b&#13;&#10;");
}
