// The main job from outside: every planned case ends in one row, whatever happens.
#include "tests/integration/cli_support.hpp"

#include <algorithm>
#include <fstream>
#include <set>

using namespace attnprof::tests;
using nlohmann::json;

namespace {

std::vector<std::string> ids_of(const std::vector<json>& records) {
  std::vector<std::string> out;
  for (const json& record : records) {
    out.push_back(record["id"]);
  }
  return out;
}

} // namespace

TEST_CASE("sweep: writes every output and a row for each planned case") {
  const Workplace place;
  const RunResult result = place.run(kSmallSweep + " -o out");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(has(result.out, "6 cases: 6 ok"));
  for (const char* name :
       {"records.jsonl", "results.csv", "kernels.csv", "report.html", "summary.md", "machine.json"}) {
    INFO(name);
    CHECK(std::filesystem::file_size(place.file("out") / name) > 0);
  }
  const auto rows = csv_rows(place.text("out/results.csv"));
  REQUIRE(rows.size() == 6);
  for (const auto& row : rows) {
    INFO(row.at("id"));
    CHECK(row.at("status") == "ok");
    CHECK(std::stod(row.at("time_ci_low_s")) <= std::stod(row.at("time_median_s")));
    CHECK(std::stod(row.at("time_median_s")) <= std::stod(row.at("time_ci_high_s")));
    CHECK_FALSE(row.at("bound").empty());
    CHECK(row.at("cache_policy") == "warm");
    CHECK(std::stoi(row.at("threads")) >= 1);
  }
  CHECK_FALSE(csv_rows(place.text("out/kernels.csv")).empty());
  // Progress in plain lines, since stderr is no terminal here.
  CHECK(has(result.err, "[6/6]"));
  CHECK_FALSE(has(result.err, "\r"));

  const RunResult again = place.run("report out --csv again.csv");
  CHECK(again.exit_code == 0);
  CHECK(place.text("again.csv") == place.text("out/results.csv"));
}

TEST_CASE("sweep: a dry run lists the cases and runs none") {
  const Workplace place;
  const RunResult result = place.run(kSmallSweep + " --dry-run -o out");
  CHECK(result.exit_code == 0);
  CHECK(has(result.out, "6 cases"));
  CHECK_FALSE(std::filesystem::exists(place.file("out")));
  const RunResult newcomer = place.run("sweep --dry-run");
  CHECK(has(newcomer.out, "42 cases"));
  CHECK_FALSE(has(newcomer.out, "invalid"));
  CHECK(has(newcomer.out, "kv_heads=2"));
  CHECK(has(place.run("sweep --help").out, "42 cases"));
}

TEST_CASE("sweep: both plans unless one is asked for") {
  const Workplace place;
  CHECK(has(place.run("sweep --variant mha --seq-len 16 --dry-run").out, "2 cases"));
  CHECK(has(place.run("sweep --variant mha --seq-len 16 --plan fused --dry-run").out, "1 case;"));
}

TEST_CASE("sweep: invalid and unsupported rows stay, without numbers, and leave exit 0 (BUG-172, BUG-208)") {
  const Workplace place;
  const RunResult result =
      place.run("sweep --variant mha --seq-len 16 --dim 12 --heads 2,5 --dtype f32,f16 --plan eager "
                "--min-time 5ms --timeout 0.1 -o out");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  const auto rows = csv_rows(place.text("out/results.csv"));
  REQUIRE(rows.size() == 4);
  std::multiset<std::string> statuses;
  for (const auto& row : rows) {
    statuses.insert(row.at("status"));
    if (row.at("status") != "ok") {
      CHECK_FALSE(row.at("reason").empty());
      for (const char* column : {"time_median_s", "flops_per_s", "roof_fraction", "samples"}) {
        INFO(column);
        CHECK(row.at(column).empty());
      }
    }
  }
  CHECK(statuses.count("invalid") == 2);
  CHECK(statuses.count("ok") >= 1);
  CHECK(place.records("out").size() == 4);
}

TEST_CASE("sweep: a case that cannot fit is a skipped row with both figures (BUG-171)") {
  const Workplace place;
  // 2 heads * 2^38 scores * 4 B = 2 TiB, and the eager plan keeps them before and after scale and softmax.
  const RunResult result = place.run(
      "sweep --variant mha --seq-len 16,524288 --dim 16 --heads 2 --plan eager --min-time 5ms --timeout 0.1 -o out");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  const std::vector<json> records = place.records("out");
  REQUIRE(records.size() == 2);
  CHECK(records[0]["status"] == "ok");
  CHECK(records[1]["status"] == "skipped");
  const std::string reason = records[1]["reason"];
  CHECK(has(reason, "memory"));
  CHECK(has(reason, "needs"));
  CHECK(has(reason, "bytes"));
  CHECK(has(reason, "free"));
  CHECK(records[1]["totals"]["macs"] > 0); // counted all the same
}

TEST_CASE("sweep: the records of another sweep are never overwritten") {
  const Workplace place;
  REQUIRE(place.run(kSmallSweep + " --filter variant=mha -o out").exit_code == 0);
  const std::string before = place.text("out/records.jsonl");
  const RunResult refused = place.run(kSmallSweep + " -o out");
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.err, "--resume"));
  CHECK(has(refused.err, "out"));
  CHECK(place.text("out/records.jsonl") == before);
  // Going on with a larger plan keeps the rows that are there.
  const RunResult resumed = place.run(kSmallSweep + " --resume -o out");
  CHECK(resumed.exit_code == 0);
  CHECK(has(resumed.err, "2 of 6 rows are already there"));
  CHECK(place.text("out/records.jsonl").starts_with(before));
  CHECK(csv_rows(place.text("out/results.csv")).size() == 6);
}

TEST_CASE("sweep: without -o every run gets a folder of its own") {
  const Workplace place;
  const std::string sweep = kSmallSweep + " --filter variant=mha.*4x4";
  REQUIRE(place.run(sweep).exit_code == 0);
  const std::string first = place.text("attnprof-out/records.jsonl");
  const RunResult second = place.run(sweep);
  CHECK(second.exit_code == 0);
  CHECK(has(second.err, "attnprof-out-2"));
  CHECK(has(second.out, "attnprof-out-2"));
  CHECK(place.text("attnprof-out/records.jsonl") == first);
  CHECK(place.records("attnprof-out-2").size() == 1);
}

TEST_CASE("sweep: shards merge to the whole, in its order") {
  const Workplace place;
  REQUIRE(place.run(kSmallSweep + " -o whole").exit_code == 0);
  for (const char* shard : {"1", "2", "3", "4"}) {
    const std::string name(shard);
    REQUIRE(place.run(kSmallSweep + " --shard " + name + "/4 -o part" + name).exit_code == 0);
  }
  const RunResult merged = place.run("merge part1 part2 part3 part4 -o merged");
  INFO(merged.err);
  CHECK(merged.exit_code == 0);
  CHECK(ids_of(place.records("merged")) == ids_of(place.records("whole")));
  CHECK(csv_rows(place.text("merged/results.csv")).size() == 6);
  CHECK(std::filesystem::exists(place.file("merged/machine.json")));
}

TEST_CASE("sweep: more shards than cases leave some without rows, which merge all the same") {
  const Workplace place;
  const std::string sweep = kSmallSweep + " --filter grid=4x4.*";
  std::string parts;
  for (const char* shard : {"1", "2", "3", "4"}) {
    const std::string name(shard);
    const RunResult result = place.run(sweep + " --shard " + name + "/4 -o part" + name);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    parts += "part" + name + " ";
  }
  REQUIRE(place.run("merge " + parts + "-o merged").exit_code == 0);
  CHECK(place.records("merged").size() == 3);
}

TEST_CASE("sweep: each case in a process of its own gives the same rows") {
  const Workplace place;
  const RunResult result = place.run(kSmallSweep + " --filter 'variant=(mha|cga)' --isolate -o out");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  const std::vector<json> records = place.records("out");
  REQUIRE(records.size() == 4);
  for (const json& record : records) {
    CHECK(record["status"] == "ok");
    CHECK(record["measured"]["time_median_s"] > 0);
    CHECK(record["measured"]["samples_s"].size() == record["measured"]["samples"]);
  }
}

TEST_CASE("sweep: the budget lets no further case begin, and the rest is listed") {
  const Workplace place;
  const RunResult result = place.run(kSmallSweep + " --budget 1us -o out");
  CHECK(result.exit_code == 0);
  const std::vector<json> records = place.records("out");
  REQUIRE(records.size() == 6);
  CHECK(records[5]["status"] == "skipped");
  CHECK(has(records[5]["reason"], "budget"));
  // Rows that only lacked time are run by --resume; each id stands in one row.
  const RunResult resumed = place.run(kSmallSweep + " --resume -o out");
  CHECK(resumed.exit_code == 0);
  const auto rows = csv_rows(place.text("out/results.csv"));
  REQUIRE(rows.size() == 6);
  CHECK(std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.at("status") == "ok"; }));
}

TEST_CASE("sweep: a configuration file and ids choose cases too") {
  const Workplace place;
  REQUIRE(place.run(kSmallSweep + " --filter variant=cga.*5x5 -o first").exit_code == 0);
  const std::string id = place.records("first").at(0)["id"];
  const RunResult again = place.run({"sweep", id, "--min-time", "5ms", "--timeout", "0.1", "-o", "second"});
  INFO(again.err);
  CHECK(again.exit_code == 0);
  REQUIRE(place.records("second").size() == 1);
  CHECK(place.records("second")[0]["id"] == id);
  CHECK(place.records("second")[0]["totals"] == place.records("first")[0]["totals"]);
}

TEST_CASE("sweep: a baseline is a gate") {
  const Workplace place;
  const std::string sweep = kSmallSweep + " --filter variant=mha";
  REQUIRE(place.run(sweep + " -o before").exit_code == 0);
  const RunResult wider = place.run(sweep + ".*4x4 --baseline before --fail-on missing -o after");
  INFO(wider.out);
  CHECK(wider.exit_code == 5); // one of the two rows is gone
  CHECK(has(wider.out, "MISSING"));
  CHECK(place.run(sweep + " --baseline before --fail-on missing,fail -o same").exit_code == 0);
}

TEST_CASE("sweep: resuming with other settings is refused, names them, and leaves the rows alone") {
  const Workplace place;
  const std::string sweep = kSmallSweep + " --filter variant=mha";
  REQUIRE(place.run(sweep + " -o out").exit_code == 0);
  const std::string before = place.text("out/records.jsonl");
  const auto refused = [&](const std::string& line, const std::string& named) {
    const RunResult result = place.run(line + " --resume -o out");
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(has(result.err, named));
    CHECK(has(result.err, "another folder with -o"));
    CHECK(place.text("out/records.jsonl") == before);
  };
  refused(sweep + " --repetitions 3", "--repetitions 3");
  refused(sweep + " --cache cold", "--cache warm");
  refused(sweep + " --isolate", "--isolate");
  refused(sweep + " --shard 1/2", "--shard 1/1");
  refused("sweep --variant mha --grid 4x4,5x5 --dim 16 --heads 2 --plan eager --min-time 5ms --timeout 0.2",
          "--timeout 0.1");
  // The same in other words is the same.
  const RunResult same = place.run(
      "sweep --variant mha --grid 4x4,5x5 --dim 16 --heads 2 --plan eager --min-time 0.005 --timeout 100ms --resume "
      "-o out");
  INFO(same.err);
  CHECK(same.exit_code == 0);
  CHECK(place.text("out/records.jsonl") == before);

  std::string manifest = place.text("out/run.json");
  const json read = json::parse(manifest);
  const std::string host = read["host"];
  manifest.replace(manifest.find(host), host.size(), "0000000000000000");
  std::ofstream(place.file("out/run.json")) << manifest;
  refused(sweep, "another machine or build");
}

TEST_CASE("sweep: merge names shards that are missing, doubled or cut short, and writes nothing") {
  const Workplace place;
  for (const char* shard : {"1", "2", "3"}) {
    const std::string name(shard);
    REQUIRE(place.run(kSmallSweep + " --shard " + name + "/3 -o part" + name).exit_code == 0);
  }
  const RunResult missing = place.run("merge part1 part3 -o whole");
  CHECK(missing.exit_code == 5);
  CHECK(has(missing.err, "shard 2/3 is missing"));
  CHECK_FALSE(std::filesystem::exists(place.file("whole")));
  const RunResult doubled = place.run("merge part1 part2 part2 part3 -o whole");
  CHECK(doubled.exit_code == 2);
  CHECK(has(doubled.err, "both shard 2/3"));
  REQUIRE(place.run(kSmallSweep + " --shard 1/2 -o half").exit_code == 0);
  const RunResult mixed = place.run("merge half part2 -o whole");
  CHECK(mixed.exit_code == 2);
  CHECK(has(mixed.err, "shard 1/2"));
  CHECK(has(mixed.err, "shard 2/3"));
  // In any order they make the whole.
  const RunResult merged = place.run("merge part3 part1 part2 -o whole");
  INFO(merged.err);
  CHECK(merged.exit_code == 0);
  REQUIRE(place.run(kSmallSweep + " -o once").exit_code == 0);
  CHECK(ids_of(place.records("whole")) == ids_of(place.records("once")));
  // A shard that was killed.
  const std::vector<std::string> lines = place.lines("part2/records.jsonl");
  std::ofstream(place.file("part2/records.jsonl")) << lines.front() << "\n";
  const RunResult cut = place.run("merge part1 part2 part3 -o again");
  CHECK(cut.exit_code == 5);
  CHECK(has(cut.err, "1 of its 2 rows"));
}

TEST_CASE("sweep: a large case is checked by a smaller twin") {
  const Workplace place;
  const RunResult result = place.run("sweep --variant mha --layout standard --batch 4 --plan fused --min-time 5ms "
                                     "--timeout 0.5 -o out");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto rows = csv_rows(place.text("out/results.csv"));
  REQUIRE(rows.size() == 1);
  CHECK(has(rows[0].at("verified_by"), "twin layout=standard:variant=mha:batch=1"));
  CHECK(std::stod(rows[0].at("max_relative_error")) < 5e-5);
  CHECK_FALSE(has(result.out, "not verified"));
}

TEST_CASE("sweep: --timing divides the wall time and changes no output") {
  const Workplace place;
  const RunResult result = place.run(kSmallSweep + " --timing -o out");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(has(result.out, "6 cases: 6 ok"));
  for (const char* phase : {"verification", "warm-up", "samples", "single launches", "writing records", "all"}) {
    INFO(phase);
    CHECK(has(result.out, phase));
  }
  CHECK(has(result.out, "the cases themselves ran for "));
  CHECK(place.records("out").size() == 6);
  for (const char* other : {" --isolate", " --dry-run"}) {
    const RunResult refused = place.run(kSmallSweep + " --timing -o other" + other);
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.err, "--timing"));
  }
}
