#include "operators/core/error.hpp"
#include "reports/derive.hpp"
#include "reports/record_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

#include <cmath>
#include <functional>
#include <limits>

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

/// Everything that a record holds, as text, by way of its JSON.
std::string whole(const profilers::Record& record) {
  return record_line(record);
}

} // namespace

TEST_CASE("a case has the keys of the contract") {
  const Json json = record_to_json(tests::derived_record());
  for (const char* key : {"id", "config", "status", "reason", "totals", "kernels", "measured"}) {
    CHECK(json.contains(key));
  }
  for (const char* key : {"macs", "flops", "matmul_flops", "vector_flops", "transcendentals", "useful_macs",
                          "bytes_read", "bytes_written", "bytes", "compulsory_bytes", "intensity", "params",
                          "weight_bytes", "kv_cache_bytes", "peak_activation_bytes", "launches"}) {
    CHECK(json["totals"].contains(key));
  }
  for (const char* key : {"scope", "op", "shape", "macs", "flops", "vector_flops", "transcendentals", "useful_macs",
                          "bytes_read", "bytes_written", "bytes", "intensity", "working_set_bytes"}) {
    CHECK(json["kernels"][0].contains(key));
  }
  for (const char* key : {"time_median_s",
                          "time_min_s",
                          "time_ci_low_s",
                          "time_ci_high_s",
                          "time_mad_s",
                          "samples",
                          "stop_reason",
                          "stability",
                          "timer",
                          "flops_per_s",
                          "bytes_per_s",
                          "items_per_s",
                          "item",
                          "attainable_flops_per_s",
                          "roof_fraction",
                          "bound",
                          "bound_margin",
                          "roof_level",
                          "memory_bound_time_share",
                          "attention_time_share",
                          "cpu_clock_hz",
                          "cycles",
                          "instructions",
                          "llc_misses",
                          "dram_bytes",
                          "fp_ops",
                          "page_faults",
                          "context_switches",
                          "steal_s",
                          "counter_origin",
                          "kernel_impl",
                          "threads",
                          "cache_policy",
                          "samples_s"}) {
    INFO(key);
    CHECK(json["measured"].contains(key));
  }
  CHECK(json["config"]["variant"] == "mha");
  CHECK(json["config"]["chunk"].is_null());
  CHECK(json["totals"]["flops"] == 2'050'000);
  CHECK(json["totals"]["flops"].is_number_integer());
  CHECK(json["kernels"][0]["intensity"].get<double>() == Catch::Approx(20.0));
  CHECK(json["measured"]["samples"] == 3);
  CHECK(json["measured"]["item"] == "token");
  CHECK(json["measured"]["items_per_s"].get<double>() == Catch::Approx(2 * 196 / 140e-6));
}

TEST_CASE("cost has no measurement but a prediction") {
  profilers::Record record = tests::counted_record();
  CHECK(record_to_json(record)["predicted"].is_null());
  derive(record, tests::round_roofs());
  const Json json = record_to_json(record);
  CHECK(json["measured"].is_null());
  CHECK(json["attempt"].is_null());
  CHECK(json["predicted"]["bound"] == "memory");
  CHECK(json["kernels"][0]["roof_time_s"].get<double>() == Catch::Approx(2e-5));
  CHECK(json["kernels"][0]["time_median_s"].is_null());
  CHECK(whole(record_from_json(json)) == whole(record));
}

TEST_CASE("a record survives the round trip exactly") {
  const profilers::Record record = tests::derived_record();
  const profilers::Record again = record_from_line(record_line(record));
  CHECK(whole(again) == whole(record));
  CHECK(again.config == record.config);
  CHECK(again.measured->samples_s == record.measured->samples_s);
  CHECK(again.measured->samples_s[2] == 1.0 / 7000.0);
  CHECK(*again.measured->conditions[1].page_faults == 4);
  CHECK_FALSE(again.measured->conditions[0].page_faults);
  CHECK(*again.measured->conditions[2].steal_s == 0.01);
  CHECK(again.measured->stop_reason == profilers::StopReason::kMinTime);
  CHECK(again.measured->stability == profilers::Stability::kNoisy);
  CHECK(again.launch_roofs.size() == 3);
  CHECK(*again.roof.roof_fraction == *record.roof.roof_fraction);
  CHECK(*again.max_relative_error == 2.5e-7);
  CHECK(again.threads == 2);
  CHECK(again.machine_fingerprint == "cafe0123");
}

TEST_CASE("every status survives, with its reason and without numbers") {
  for (const auto status : {profilers::Status::kSkipped, profilers::Status::kUnsupported, profilers::Status::kInvalid,
                            profilers::Status::kIncorrect, profilers::Status::kFailed}) {
    profilers::Record record = tests::counted_record();
    record.status = status;
    record.reason = "needs 4.2 GB, and 1.0 GB is free";
    record.totals.reset();
    record.launches.clear();
    record.kernel_impl = "onednn";
    record.threads = 2;
    const Json json = record_to_json(record);
    CHECK(json["totals"].is_null());
    CHECK(json["measured"].is_null());
    CHECK(json["attempt"]["kernel_impl"] == "onednn");
    const profilers::Record again = record_from_line(record_line(record));
    CHECK(again.status == status);
    CHECK(again.kernel_impl == "onednn");
    CHECK(whole(again) == whole(record));
  }
}

TEST_CASE("BUG-100, BUG-175: NaN, infinities, zero bytes and zero time are null, and the text is strict JSON") {
  profilers::Record record = tests::derived_record();
  record.launches[0].cost.bytes = {0, 0, 0};
  record.launches[1].time_median_s = 0.0;
  record.measured->time_mad_s = std::numeric_limits<double>::quiet_NaN();
  record.measured->samples_s[0] = std::numeric_limits<double>::infinity();
  record.roof.bound_margin = std::numeric_limits<double>::infinity();
  const std::string text = record_line(record);
  const Json json = parse_json(text, "line");
  CHECK(json["kernels"][0]["intensity"].is_null());
  CHECK(json["kernels"][1]["flops_per_s"].is_null());
  CHECK(json["kernels"][2]["intensity"] == 0.0);
  CHECK(json["measured"]["time_mad_s"].is_null());
  CHECK(json["measured"]["bound_margin"].is_null());
  CHECK_THAT(text, !Contains("nan") && !Contains("inf\""));
}

TEST_CASE("BUG-193: a case without KV cache has no KV bytes") {
  profilers::Record record = tests::counted_record();
  CHECK(record_to_json(record)["totals"]["kv_cache_bytes"].is_null());
  record.totals->kv_cache_bytes = 8192;
  const Json json = record_to_json(record);
  CHECK(json["totals"]["kv_cache_bytes"] == 8192);
  CHECK(record_from_json(json).totals->kv_cache_bytes == 8192);
}

TEST_CASE("BUG-211: large counts keep every digit") {
  profilers::Record record = tests::counted_record();
  record.totals->bytes_read = 16'777'217;
  record.totals->bytes_written = 0;
  record.totals->params = 9'007'199'254'740'993; // 2^53 + 1
  const std::string text = record_line(record);
  CHECK_THAT(text, Contains("\"bytes_read\":16777217,") && Contains("\"params\":9007199254740993,"));
  CHECK(record_from_line(text).totals->params == 9'007'199'254'740'993);
}

TEST_CASE("a real parameter stays real when another program writes it as a whole number") {
  Json json = record_to_json(tests::counted_record());
  json["config"]["mlp_ratio"] = 4;
  CHECK(record_from_json(json).config.real("mlp_ratio") == 4.0);
}

TEST_CASE("unknown keys are ignored, other versions and other types are refused in a sentence") {
  Json document = cases_document({tests::derived_record()});
  document["cases"][0]["brand_new"] = {{"a", 1}};
  document["cases"][0]["totals"]["brand_new"] = 3;
  CHECK(records_from_document(document).size() == 1);

  document["schema_version"] = 99;
  CHECK_THROWS_WITH(records_from_document(document), Contains("schema version 99") && Contains("version 1"));
  document.erase("schema_version");
  CHECK_THROWS_WITH(records_from_document(document), Contains("'schema_version' is missing"));

  Json json = record_to_json(tests::derived_record());
  json["totals"]["macs"] = 1.5;
  CHECK_THROWS_WITH(record_from_json(json), Contains("'macs' is 1.5, expected a 64-bit integer"));
  json = record_to_json(tests::derived_record());
  json["status"] = "fine";
  CHECK_THROWS_WITH(record_from_json(json), Contains("fine"));
  json = record_to_json(tests::derived_record());
  json["measured"]["samples_s"][0] = "fast";
  CHECK_THROWS_WITH(record_from_json(json), Contains("samples_s"));
  json = record_to_json(tests::derived_record());
  json["measured"]["sample_conditions"]["count"] = 1'000'000'000'000;
  CHECK_THROWS_WITH(record_from_json(json), Contains("count"));
  CHECK_THROWS_WITH(record_from_line("[1]"), Contains("no JSON object"));
  CHECK_THROWS_WITH(record_from_line("{\"a\": NaN}"), Contains("no valid JSON"));
}

TEST_CASE("text that is not UTF-8 does not stop the writer") {
  profilers::Record record = tests::counted_record();
  record.reason = "bad \xff byte";
  CHECK_THAT(record_line(record), Contains("bad \xEF\xBF\xBD byte"));
}

TEST_CASE("a record is the same whatever the order of its keys") {
  const Json json = record_to_json(tests::derived_record());
  const std::function<Json(const Json&)> reversed = [&](const Json& value) {
    if (!value.is_object()) {
      Json out = value;
      for (Json& each : out) {
        each = value.is_array() ? reversed(each) : each;
      }
      return value.is_array() ? out : value;
    }
    std::vector<std::pair<std::string, Json>> entries;
    for (const auto& [key, each] : value.items()) {
      entries.emplace_back(key, reversed(each));
    }
    Json out = Json::object();
    for (auto at = entries.rbegin(); at != entries.rend(); ++at) {
      out[at->first] = std::move(at->second);
    }
    return out;
  };
  CHECK(whole(record_from_json(reversed(json))) == whole(record_from_json(json)));
}

TEST_CASE("a fault in a record names the way to it") {
  Json json = record_to_json(tests::derived_record());
  json["kernels"][1]["macs"] = "many";
  CHECK_THROWS_WITH(record_from_json(json), Contains(", kernels[1]: 'macs' is \"many\", expected a 64-bit integer"));
  json = record_to_json(tests::derived_record());
  json["measured"]["sample_conditions"]["steal_s"][0] = "none";
  CHECK_THROWS_WITH(record_from_json(json), Contains(", measured, sample_conditions: 'steal_s' is "));
  json["measured"] = 5;
  CHECK_THROWS_WITH(record_from_json(json), Contains(", measured is no JSON object but number"));
}
