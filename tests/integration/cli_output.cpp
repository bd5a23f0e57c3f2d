// What the commands print, and to which stream.
#include "tests/integration/cli_support.hpp"
#include "tests/support/paths.hpp"

#include <algorithm>
#include <set>

using namespace attnprof::tests;
using nlohmann::json;

TEST_CASE("output: version, help and lists") {
  const Workplace place;
  CHECK(place.run("--version").out.starts_with("attnprof 0."));
  const RunResult help = place.run("--help");
  CHECK(help.exit_code == 0);
  CHECK(help.err.empty());
  CHECK(has(help.out, "130 after Ctrl-C"));
  for (const char* command :
       {"list", "cost", "run", "sweep", "compare", "report", "machine", "verify", "merge", "doctor"}) {
    INFO(command);
    CHECK(has(help.out, command));
    const RunResult one = place.run(std::string(command) + " --help");
    CHECK(one.exit_code == 0);
    CHECK(has(one.out, "examples:"));
    CHECK(place.run(std::string("help ") + command).out == one.out);
  }
  const json variants = json::parse(place.run("list variants --json").out);
  REQUIRE(variants.is_array());
  const auto mha = std::find_if(variants.begin(), variants.end(), [](const json& v) { return v["name"] == "mha"; });
  REQUIRE(mha != variants.end());
  CHECK_FALSE((*mha)["source"].get<std::string>().empty());
  std::set<std::string> params;
  for (const json& param : (*mha)["params"]) {
    params.insert(param["name"].get<std::string>());
  }
  CHECK(params.contains("head_dim"));
  CHECK_FALSE(params.contains("kv_heads"));
  for (const char* list : {"layouts", "models", "ops", "counters", "hardware"}) {
    INFO(list);
    CHECK(json::parse(place.run(std::string("list ") + list + " --json").out).is_array());
    CHECK(place.run(std::string("list ") + list).exit_code == 0);
  }
}

TEST_CASE("output: cost prints one strict document on stdout, and its id is the same case again") {
  const Workplace place;
  const RunResult result = place.run("cost --variant gqa --seq-len 24,40 --dim 32 --heads 4 --kv-heads 2 --json");
  REQUIRE(result.exit_code == 0);
  const json document = json::parse(result.out);
  CHECK(document["schema_version"].is_number_integer());
  REQUIRE(document["cases"].size() == 2);
  for (const json& one : document["cases"]) {
    CHECK(one["status"] == "ok");
    CHECK(one["measured"].is_null());
    CHECK(one["config"]["kv_heads"] == 2);
    const json again = json::parse(place.run({"cost", one["id"].get<std::string>(), "--json"}).out)["cases"];
    REQUIRE(again.size() == 1);
    CHECK(again[0] == one);
  }
  CHECK(document["cases"][1]["totals"]["macs"] > document["cases"][0]["totals"]["macs"]);
  const RunResult table = place.run("cost --variant gqa --seq-len 24 --dim 32 --heads 4");
  CHECK(table.exit_code == 0);
  CHECK(has(table.out, "softmax"));
  CHECK(std::filesystem::is_empty(place.options().working_directory));
}

TEST_CASE("output: an impossible case among others is a row of its own") {
  const Workplace place;
  const RunResult result = place.run("cost --variant mha --seq-len 8 --dim 30 --heads 2,4 --json");
  REQUIRE(result.exit_code == 0);
  const json cases = json::parse(result.out)["cases"];
  REQUIRE(cases.size() == 2);
  CHECK(cases[0]["status"] == "ok");
  CHECK(cases[1]["status"] == "invalid");
  CHECK(has(cases[1]["reason"], "--heads 4"));
  CHECK(cases[1]["totals"].is_null());
}

TEST_CASE("output: run measures and prints kernels, JSON alone on stdout") {
  const Workplace place;
  const std::string workload = "--variant mqa --seq-len 20 --dim 32 --heads 4 --min-time 5ms --timeout 0.2";
  const RunResult table = place.run("run " + workload);
  INFO(table.err);
  REQUIRE(table.exit_code == 0);
  CHECK(has(table.out, "q_proj"));
  const RunResult result = place.run("run " + workload + " --json");
  REQUIRE(result.exit_code == 0);
  const json one = json::parse(result.out)["cases"].at(0);
  CHECK(one["measured"]["time_median_s"] > 0);
  CHECK(one["measured"]["samples"] >= 1);
  CHECK(one["config"]["plan"] == "eager");
  CHECK(one["max_relative_error"].is_number()); // it was compared with the reference
  CHECK(one["max_relative_error"] < 1e-4);
}

TEST_CASE("output: few repetitions work, statistics that need more are null (BUG-207)") {
  const Workplace place;
  for (const char* count : {"1", "2", "3", "4"}) {
    const RunResult result =
        place.run(std::string("run --variant mha --seq-len 16 --dim 16 --heads 2 --json -w 0 -r ") + count);
    INFO(count << result.err);
    REQUIRE(result.exit_code == 0);
    const json measured = json::parse(result.out)["cases"].at(0)["measured"];
    CHECK(measured["samples"] == std::stoi(count));
    CHECK(measured["time_median_s"] > 0);
    CHECK(measured["time_ci_low_s"].is_null());
  }
}

TEST_CASE("output: the locale changes nothing") {
  Workplace place;
  const std::vector<std::string> args = words("cost --variant mha --seq-len 1234 --dim 96 --heads 3");
  RunOptions german = place.options();
  for (const char* name : {"LC_ALL", "LANG", "LC_NUMERIC"}) {
    german.environment[name] = "de_DE.UTF-8";
  }
  CHECK(run_binary(args, german).out == place.run(args).out);
}

TEST_CASE("output: a reader that leaves is no fault, a full disk is one") {
  const Workplace place;
  const std::string binary = attnprof::tests::binary();
  const RunResult left = run_program("/bin/sh", {"-c", "'" + binary + "' list --json | head -n 1"}, place.options());
  CHECK(left.exit_code == 0);
  CHECK(left.err.empty());
  CHECK_FALSE(left.out.empty());
  const RunResult full = run_program("/bin/sh", {"-c", "'" + binary + "' list variants > /dev/full"}, place.options());
  CHECK(full.exit_code == 2);
  CHECK(has(full.err, "standard output"));
}

TEST_CASE("output: verify passes on its own samples and counts") {
  const Workplace place;
  const RunResult golden = place.run("verify " + (test_files_dir() / "golden" / "mha.json").string());
  INFO(golden.out << golden.err);
  CHECK(golden.exit_code == 0);
  CHECK(has(golden.out, "1 passed, 0 failed, on cpu"));
  CHECK_FALSE(has(golden.err, "cuda")); // nobody asked for it
}
