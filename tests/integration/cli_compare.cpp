#include "tests/integration/cli_support.hpp"

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

} // namespace

TEST_CASE("compare: two runs as a gate") {
  const Workplace place;
  REQUIRE(place.run(kSmallSweep + " -o measured").exit_code == 0);
  copy_run(place, "measured", "before", [](std::size_t, json r) { return steady(std::move(r)); });
  CHECK(place.run("compare before before").exit_code == 0);
  CHECK(place.run("compare before before/records.jsonl").exit_code == 0);

  copy_run(place, "before", "slow", [](std::size_t i, json r) { return i == 4 ? scaled(std::move(r), 2.5) : r; });
  const RunResult slow = place.run("compare before slow --threshold 50%");
  INFO(slow.out);
  CHECK(slow.exit_code == 3);
  CHECK(has(slow.out, "+150.0 %"));
  CHECK(has(slow.out, "1 regressed"));
  CHECK(place.run("compare slow before --threshold 50%").exit_code == 0);
  CHECK(place.run("compare before slow --threshold 200%").exit_code == 0);
  CHECK(place.run("compare before slow --threshold 50% --fail-on missing").exit_code == 0);

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
  CHECK(changes["rows"][4]["change"] == "regressed");
  CHECK(changes["rows"][4]["ratio"].get<double>() == Catch::Approx(2.5));
}

TEST_CASE("compare: workloads measured in turns") {
  const Workplace place;
  const RunResult result =
      place.run("compare --variant mha,cga --seq-len 36 --dim 16 --heads 2 --min-time 50ms --timeout 0.5");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  for (const char* word : {"mha", "cga", "eager", "fused", "base", "time ratio"}) {
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
  for (const json& one : cases) {
    CHECK(one["measured"]["time_median_s"] > 0);
    CHECK(one["measured"]["samples"] >= 8);
  }
  CHECK(place.run("compare --variant mha --plan eager").exit_code == 2); // nothing to compare with
  CHECK(place.run("compare").exit_code == 2);
}
