#include "reports/record_json.hpp"
#include "tests/integration/cli_support.hpp"
#include "tests/unit/reports_records.hpp"

#include <fstream>
#include <functional>

using namespace attnprof::tests;
using nlohmann::json;

namespace {

/// Copies a run folder with its records changed; null drops one.
void copy_run(const Workplace& place, const std::string& from, const std::string& to,
              const std::function<json(std::size_t, json)>& change) {
  std::filesystem::copy(place.file(from), place.file(to), std::filesystem::copy_options::recursive);
  const std::vector<json> records = place.records(from);
  std::ofstream file(place.file(to) / "records.jsonl", std::ios::binary);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const json changed = change(i, records[i]); !changed.is_null()) {
      file << changed.dump() << "\n";
    }
  }
}

/// A run of six cases with 20 equal samples each. Nothing is measured: under load a case may get a single sample, or
/// none.
void write_run(const Workplace& place, const std::string& folder) {
  std::filesystem::create_directory(place.file(folder));
  std::ofstream file(place.file(folder) / "records.jsonl", std::ios::binary);
  for (int i = 0; i < 6; ++i) {
    attnprof::profilers::Record record = measured_record(i % 2 == 0 ? "mha" : "gqa");
    record.id += ":dim=" + std::to_string(64 + i);
    attnprof::profilers::Measurement& measured = *record.measured;
    measured.samples_s.assign(20, *measured.time_median_s);
    measured.conditions.clear();
    measured.time_min_s = measured.time_ci_low_s = measured.time_ci_high_s = measured.time_median_s;
    file << attnprof::reports::record_line(record) << "\n";
  }
}

/// All samples at the median: whether a change is found must not hang on how busy the machine was.
json steady(json record) {
  json& measured = record["measured"];
  if (measured.is_null()) {
    return record;
  }
  const double median_s = measured["time_median_s"].get<double>();
  for (const char* name : {"time_min_s", "time_ci_low_s", "time_ci_high_s"}) {
    if (measured.contains(name) && measured[name].is_number()) {
      measured[name] = median_s;
    }
  }
  for (json& sample : measured["samples_s"]) {
    sample = median_s;
  }
  return record;
}

json scaled(json record, double factor) {
  for (auto& [name, value] : record["measured"].items()) {
    if (name.starts_with("time_") && value.is_number()) {
      value = value.get<double>() * factor;
    }
    if (name == "samples_s") {
      for (json& sample : value) {
        sample = sample.get<double>() * factor;
      }
    }
  }
  return record;
}

const std::map<std::string, std::optional<std::string>> kSharedRunner = {{"CI", "true"},
                                                                         {"ATTNPROF_RUNNER", std::nullopt},
                                                                         {"RUNNER_ENVIRONMENT", std::nullopt},
                                                                         {"GITHUB_ACTIONS", std::nullopt},
                                                                         {"GITLAB_CI", std::nullopt},
                                                                         {"CIRCLECI", std::nullopt},
                                                                         {"TRAVIS", std::nullopt},
                                                                         {"BUILDKITE", std::nullopt},
                                                                         {"TF_BUILD", std::nullopt},
                                                                         {"APPVEYOR", std::nullopt}};

} // namespace

TEST_CASE("compare: two runs as a gate") {
  const Workplace place;
  write_run(place, "before");
  CHECK(place.run("compare before before").exit_code == 0);
  CHECK(place.run("compare before before/records.jsonl").exit_code == 0);

  copy_run(place, "before", "slow", [](std::size_t i, json r) { return i == 4 ? scaled(std::move(r), 2.5) : r; });
  const RunResult slow = place.run("compare before slow --threshold 50%");
  INFO(slow.out);
  CHECK(slow.exit_code == 3);
  CHECK(has(slow.out, "+150.0 %"));
  CHECK(has(slow.out, "1 SLOWER"));
  CHECK(has(slow.out, "5 SAME"));
  CHECK(place.run("compare slow before --threshold 50%").exit_code == 0);
  CHECK(place.run("compare before slow --threshold 200%").exit_code == 0);
  CHECK(place.run("compare before slow --threshold 50% --fail-on missing").exit_code == 0);

  // However slow, a single sample proves nothing, says so, and fails only who asked for it.
  copy_run(place, "before", "once", [](std::size_t i, json r) {
    if (i == 4) {
      r = scaled(std::move(r), 2.5);
      r["measured"]["samples_s"] = {r["measured"]["time_median_s"]};
    }
    return r;
  });
  const RunResult once = place.run("compare before once --threshold 50%");
  INFO(once.out);
  CHECK(once.exit_code == 0);
  CHECK(has(once.out, "not enough samples: 20 before and 1 now, and 5 are needed"));
  CHECK(place.run("compare before once --threshold 50% --fail-on regress,inconclusive").exit_code == 6);

  copy_run(place, "before", "fewer", [](std::size_t i, json r) { return i == 0 ? json() : r; });
  CHECK(place.run("compare before fewer").exit_code == 5);
  CHECK(place.run("compare fewer before").exit_code == 0);
  CHECK(place.run("compare before fewer --fail-on regress").exit_code == 0);

  copy_run(place, "before", "broken", [](std::size_t i, json r) {
    if (i == 1) {
      r["status"] = "failed";
      r["reason"] = "it broke";
      r["measured"] = nullptr;
    }
    return r;
  });
  const RunResult broken = place.run("compare before broken");
  CHECK(broken.exit_code == 4);
  CHECK(has(broken.out, "it broke"));

  // Several runs against the first: the lowest code that is not 0.
  CHECK(place.run("compare before before fewer slow --threshold 50%").exit_code == 3);
  const json changes = json::parse(place.run("compare before slow --threshold 50% --json").out);
  REQUIRE(changes["rows"].size() == 6);
  CHECK(changes["rows"][4]["verdict"] == "SLOWER");
  CHECK(changes["rows"][4]["p"] < 0.05);
  CHECK(changes["rows"][0]["verdict"] == "SAME");
  CHECK(changes["correction"] == "holm");
  CHECK(changes["rows"][4]["ratio"].get<double>() == Catch::Approx(2.5));
}

TEST_CASE("compare: workloads measured in turns") {
  const Workplace place;
  const RunResult result =
      place.run("compare --variant mha,cga --seq-len 36 --dim 16 --heads 2 --min-time 50ms --timeout 0.5");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  for (const char* word : {"mha", "cga", "eager", "fused", "base", "time ratio", "efficiency", "noise floor"}) {
    INFO(word);
    CHECK(has(result.out, word));
  }
  const RunResult plans =
      place.run("compare --variant mha --seq-len 36 --dim 16 --heads 2 --min-time 50ms --timeout 0.5 --json");
  REQUIRE(plans.exit_code == 0);
  const json cases = json::parse(plans.out)["cases"];
  REQUIRE(cases.size() == 2);
  CHECK(cases[0]["config"]["plan"] == "eager");
  CHECK(cases[1]["config"]["plan"] == "fused");
  CHECK(cases[0]["measured"]["threads"] == cases[1]["measured"]["threads"]);
  for (const json& one : cases) {
    CHECK(one["measured"]["time_median_s"] > 0);
    CHECK(one["measured"]["samples"] >= 8);
  }
  const json one = json::parse(plans.out)["comparisons"][0];
  double sum = 0;
  for (const auto& [name, part] : one["log_ratio_parts"].items()) {
    sum += part.get<double>();
  }
  CHECK(sum == Catch::Approx(one["log_ratio"].get<double>()).margin(1e-9));
  CHECK(place.run("compare --variant mha --plan eager").exit_code == 2); // nothing to compare with
  CHECK(place.run("compare").exit_code == 2);
}

TEST_CASE("compare: counts are compared where the runner is shared, and need no measurement") {
  const Workplace place;
  const std::string cases = "cost --variant mha,gqa --seq-len 36 --dim 16 --heads 2 --json";
  const auto save = [&](const std::string& args, const char* name) {
    const RunResult result = place.run(args);
    REQUIRE(result.exit_code == 0);
    std::ofstream(place.file(name), std::ios::binary) << result.out;
  };
  save(cases, "before.json");
  save(cases + " --causal", "causal.json");
  save("cost --variant mha,gqa --seq-len 36 --dim 16 --heads 2 --kv-heads 1 --json", "fewer_heads.json");
  CHECK(place.run("compare before.json before.json --gate counts").exit_code == 0);
  const RunResult ids = place.run("compare before.json causal.json --gate counts");
  CHECK(ids.exit_code == 5); // other cases, so none is there again
  CHECK(has(ids.out, "MISSING"));
  CHECK(has(ids.out, "NEW"));

  // The same ids with other counts: what a change of the program would do.
  json changed = json::parse(place.run(cases).out);
  changed["cases"][1]["totals"]["bytes_read"] = changed["cases"][1]["totals"]["bytes_read"].get<std::int64_t>() + 8;
  std::ofstream(place.file("changed.json"), std::ios::binary) << changed.dump();
  const RunResult counts =
      place.run("compare before.json changed.json --gate counts --ci --junit verdicts.xml --md pr.md");
  INFO(counts.out);
  CHECK(counts.exit_code == 3);
  CHECK(has(counts.out, "CHANGED"));
  CHECK(has(counts.out, "::error file=changed.json,title=attnprof CHANGED::"));
  CHECK(has(place.text("verdicts.xml"), "failures=\"1\""));
  CHECK(has(place.text("pr.md"), "the gate fails"));
  CHECK(place.run("compare before.json changed.json --metric flops,params").exit_code == 0);
  CHECK(place.run("compare before.json changed.json --metric bytes").exit_code == 3);

  const RunResult shared = place.run("compare before.json changed.json", kSharedRunner);
  CHECK(shared.exit_code == 3);
  CHECK(has(shared.err, "CI is set, so counts are compared"));
  CHECK(place.run("compare before.json changed.json --gate times", kSharedRunner).exit_code == 0);
}

TEST_CASE("compare: unlike machines are refused unless asked, and then only roofs are compared") {
  const Workplace place;
  REQUIRE(place.run(kSmallSweep + " -o here").exit_code == 0);
  copy_run(place, "here", "there", [](std::size_t, json r) { return steady(std::move(r)); });
  json machine = json::parse(place.text("there/machine.json"));
  machine["environment"]["cpu_model"] = "Another Processor";
  std::ofstream(place.file("there") / "machine.json", std::ios::binary) << machine.dump();
  const RunResult refused = place.run("compare here there");
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.err, "Another Processor"));
  CHECK(has(refused.err, "--across-machines"));
  const RunResult across = place.run("compare here there --across-machines --fail-on none");
  INFO(across.err);
  CHECK(across.exit_code == 0);
  CHECK(has(across.out, "roof_fraction"));
  CHECK(place.run("compare here there --across-machines --metric time_median_s").exit_code == 2);
  CHECK(place.run("compare here there --gate counts").exit_code == 0);
}

TEST_CASE("compare: --equal sizes the other side, --plant slows it down") {
  const Workplace place;
  const std::string quick = " --min-time 20ms --timeout 0.5";
  const RunResult equal = place.run("compare --layout sandwich,standard --variant mha --grid 6x6 --dim 16 --heads 2 "
                                    "--plan fused --equal flops --vary width" +
                                    quick);
  INFO(equal.out << equal.err);
  CHECK(equal.exit_code == 0);
  CHECK(has(equal.out, "for equal flops"));
  CHECK(has(equal.out, "mismatch"));
  const RunResult planted = place.run("compare --variant mha --seq-len 36 --dim 16 --heads 2 --plan fused --plant 400% "
                                      "--fail-on regress" +
                                      quick);
  INFO(planted.out << planted.err);
  CHECK(planted.exit_code == 3);
  CHECK(has(planted.out, "SLOWER"));
  CHECK(place.run("compare --variant mha,gqa --plant 10%").exit_code == 2);
  CHECK(place.run("compare --variant mha,gqa --vary width").exit_code == 2);
  CHECK(place.run("compare --variant mha,gqa --equal flop").exit_code == 2);
}
