// Formats of other tools: Google Benchmark's JSON and the trace of Chrome and Perfetto.
#include "reports/derive.hpp"
#include "reports/record_json.hpp"
#include "reports/writers/gbench.hpp"
#include "reports/writers/trace.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;

TEST_CASE("Google Benchmark: each case has the keys that its readers demand") {
  ResultSet results;
  results.records = {tests::measured_record(), tests::counted_record("gqa")};
  results.records[1].status = profilers::Status::kFailed;
  results.records[1].reason = "it \"broke\"";
  const Json json = parse_json(gbench_json(results), "gbench");
  REQUIRE(json["benchmarks"].size() == 2);
  const Json& ok = json["benchmarks"][0];
  CHECK(ok["name"] == results.records[0].id);
  CHECK(ok["run_type"] == "iteration");
  CHECK(ok["real_time"].get<double>() == Catch::Approx(140e3)); // 140 us
  CHECK(ok["cpu_time"] == ok["real_time"]);
  CHECK(ok["time_unit"] == "ns");
  CHECK(ok["iterations"] == 3);
  CHECK(ok["flops"] == 2'050'000);
  CHECK(ok["items_per_second"].get<double>() == Catch::Approx(2 * 196 / 140e-6));
  CHECK_FALSE(ok.contains("error_occurred"));
  const Json& broken = json["benchmarks"][1];
  CHECK(broken["error_occurred"] == true);
  CHECK(broken["error_message"] == "failed: it \"broke\"");
  CHECK_FALSE(broken.contains("real_time")); // absent, not 0
}

TEST_CASE("trace: launches lie end to end inside the parts of their scopes") {
  profilers::Record record = tests::measured_record();
  record.launches[0].cost.scope = "block0/mixer/scores";
  record.launches[1].cost.scope = "block0/mixer/softmax";
  record.launches[2].cost.scope = "block0/ffn/fc1";
  derive(record, tests::round_roofs());
  const Json json = parse_json(trace_json({record, tests::counted_record("gqa")}), "trace");
  std::map<std::string, Json> slices;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X") {
      slices[event["name"]] = event;
    } else {
      CHECK(event["ph"] == "M");
    }
    CHECK(event["pid"] == 1); // the case that was not measured is left out
  }
  REQUIRE(slices.size() == 6); // three launches, block0, mixer, ffn
  CHECK(slices["scores"]["ts"].get<double>() == 0.0);
  CHECK(slices["scores"]["dur"].get<double>() == Catch::Approx(20.0));
  CHECK(slices["softmax"]["ts"].get<double>() == Catch::Approx(20.0));
  CHECK(slices["fc1"]["ts"].get<double>() == Catch::Approx(30.0));
  CHECK(slices["mixer"]["dur"].get<double>() == Catch::Approx(30.0));
  CHECK(slices["ffn"]["ts"].get<double>() == Catch::Approx(30.0));
  CHECK(slices["block0"]["dur"].get<double>() == Catch::Approx(130.0));
  CHECK(slices["scores"]["args"]["flops"] == 2'000'000);
  CHECK(slices["scores"]["args"]["bound"] == "compute");
  CHECK_THROWS_WITH(trace_json({tests::counted_record()}), Catch::Matchers::Contains("no launch"));
}
