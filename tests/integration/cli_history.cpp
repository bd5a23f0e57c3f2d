#include "cli/history_file.hpp"
#include "tests/integration/cli_support.hpp"
#include "tests/unit/reports_records.hpp"

#include <fstream>

using namespace attnprof;
using namespace attnprof::tests;
using nlohmann::json;

namespace {

/// A records file with one case that took so long.
void write_run(const Workplace& place, const std::string& name, double time_s) {
  profilers::Record record = measured_record();
  record.measured->time_median_s = time_s;
  std::ofstream(place.file(name), std::ios::binary) << reports::json_text(reports::cases_document({record})) << "\n";
}

} // namespace

TEST_CASE("history: runs are kept once, trends shown, and a worse one fails where asked") {
  if (!cli::has_history()) {
    const Workplace place;
    CHECK(place.run("history show history.db").exit_code == 7);
    return;
  }
  const Workplace place;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "run" + std::to_string(i) + ".json";
    write_run(place, name, 1e-3 * (1 + 0.002 * i));
    const RunResult added = place.run("history add history.db " + name + " --commit c" + std::to_string(i) +
                                      " --date 2026-03-0" + std::to_string(i + 1) + "T12:00:00Z --label 'it''s'");
    INFO(added.err);
    REQUIRE(added.exit_code == 0);
    CHECK(has(added.out, "run " + std::to_string(i + 1) + ": 1 cases"));
  }
  CHECK(has(place.run("history add history.db run0.json").out, "already"));
  const RunResult usual = place.run("history show history.db --fail-on regress");
  INFO(usual.out);
  CHECK(usual.exit_code == 0);
  CHECK(has(usual.out, "USUAL"));
  CHECK(has(usual.out, "6 runs"));

  write_run(place, "slow.json", 2e-3);
  REQUIRE(place.run("history add history.db slow.json", {{"GITHUB_SHA", "abc123"}}).exit_code == 0);
  CHECK(place.run("history show history.db --fail-on regress").exit_code == 3);
  CHECK(place.run("history show history.db").exit_code == 0);
  const json shown = json::parse(place.run("history show history.db --json").out);
  const json& trend = shown["trends"][0];
  CHECK(shown["runs"] == 7);
  CHECK(trend["verdict"] == "WORSE");
  REQUIRE(trend["points"].size() == 7);
  CHECK(trend["points"][0]["added_on"] == "2026-03-01T12:00:00Z");
  CHECK(trend["points"][0]["commit"] == "c0");
  CHECK(trend["points"][6]["commit"] == "abc123");
  CHECK(trend["points"][6]["added_on"].get<std::string>().size() == 20); // now
  CHECK(trend["center"].get<double>() == Catch::Approx(1.005e-3));
  CHECK(place.run("history show history.db --metric flops_per_s").exit_code == 0);
}

TEST_CASE("history: what is no history is refused and left as it is") {
  if (!cli::has_history()) {
    return;
  }
  const Workplace place;
  write_run(place, "run.json", 1e-3);
  std::ofstream(place.file("notes.txt")) << "these are notes, longer than the head of a database would be";
  const RunResult text = place.run("history add notes.txt run.json");
  CHECK(text.exit_code == 2);
  CHECK(has(text.err, "no history"));
  CHECK(place.text("notes.txt") == "these are notes, longer than the head of a database would be");
  CHECK(place.run("history show absent.db").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(place.file("absent.db")));
  CHECK(place.run("history add history.db absent.json").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(place.file("history.db"))); // nothing was kept
  for (const char* args : {"history", "history put history.db", "history add history.db", "history show",
                           "history add history.db run.json --last 9", "history show history.db --commit x"}) {
    INFO(args);
    CHECK(place.run(args).exit_code == 2);
  }
}

TEST_CASE("explain: every metric has a definition, a misspelt one is refused with the nearest") {
  const Workplace place;
  const RunResult one = place.run("explain intensity");
  CHECK(one.exit_code == 0);
  for (const char* text : {"in FLOP/B", "flops / bytes", "derived", "results.csv", "kernels.csv"}) {
    INFO(one.out);
    CHECK(has(one.out, text));
  }
  const RunResult wrong = place.run("explain time_medain_s");
  CHECK(wrong.exit_code == 2);
  CHECK(has(wrong.err, "did you mean 'time_median_s'"));
  CHECK(wrong.out.empty());
  const json all = json::parse(place.run("explain --json").out);
  CHECK(all["metrics"].size() > 90);
  for (const json& metric : all["metrics"]) {
    INFO(metric.dump());
    CHECK_FALSE(metric["definition"].get<std::string>().empty());
    CHECK_FALSE(metric["origin"].get<std::string>().empty());
  }
}
