#include "operators/core/error.hpp"
#include "reports/derive.hpp"
#include "reports/json_document.hpp"
#include "reports/record_file.hpp"
#include "reports/record_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

profilers::Record derived_record() {
  profilers::Record record = tests::measured_record();
  derive(record, tests::round_roofs());
  return record;
}

/// Everything that a record holds, as text, by way of its JSON.
std::string whole(const profilers::Record& record) {
  return record_line(record);
}

} // namespace

TEST_CASE("a case has the keys of the contract") {
  const Json json = record_to_json(derived_record());
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
  const profilers::Record record = derived_record();
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
  profilers::Record record = derived_record();
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
  Json document = cases_document({derived_record()});
  document["cases"][0]["brand_new"] = {{"a", 1}};
  document["cases"][0]["totals"]["brand_new"] = 3;
  CHECK(records_from_document(document).size() == 1);

  document["schema_version"] = 99;
  CHECK_THROWS_WITH(records_from_document(document), Contains("schema version 99") && Contains("version 1"));
  document.erase("schema_version");
  CHECK_THROWS_WITH(records_from_document(document), Contains("'schema_version' is missing"));

  Json json = record_to_json(derived_record());
  json["totals"]["macs"] = 1.5;
  CHECK_THROWS_WITH(record_from_json(json), Contains("'macs' is 1.5, expected a 64-bit integer"));
  json = record_to_json(derived_record());
  json["status"] = "fine";
  CHECK_THROWS_WITH(record_from_json(json), Contains("fine"));
  json = record_to_json(derived_record());
  json["measured"]["samples_s"][0] = "fast";
  CHECK_THROWS_WITH(record_from_json(json), Contains("samples_s"));
  json = record_to_json(derived_record());
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

TEST_CASE("BUG-166: each record is on the disk before the next case begins") {
  tests::FakeFiles files;
  RecordWriter writer = RecordWriter::create(files, "run/records.jsonl");
  writer.append(derived_record());
  CHECK(files.flushes == 1);
  writer.append(tests::measured_record("gqa"));
  CHECK(files.flushes == 2);
  const RecordLines lines = read_record_lines(files.texts["run/records.jsonl"], "records.jsonl");
  REQUIRE(lines.records.size() == 2);
  CHECK(lines.records[1].config.text("variant") == "gqa");
  CHECK(lines.notes.empty());
  CHECK(lines.whole_bytes == files.texts["run/records.jsonl"].size());
}

TEST_CASE("BUG-168: a torn last line is dropped with a note, damage elsewhere names its line") {
  const std::string one = record_line(tests::measured_record("mha")) + "\n";
  const std::string two = record_line(tests::measured_record("gqa")) + "\n";
  const RecordLines torn = read_record_lines(one + two.substr(0, two.size() / 2), "r.jsonl");
  CHECK(torn.records.size() == 1);
  CHECK(torn.whole_bytes == one.size());
  REQUIRE(torn.notes.size() == 1);
  CHECK_THAT(torn.notes[0], Contains("r.jsonl line 2") && Contains("cut off"));
  CHECK_THROWS_WITH(read_record_lines(one + "{\"torn\": \n" + two, "r.jsonl"), Contains("r.jsonl line 2"));
  CHECK_THROWS_WITH(read_record_lines(one + "{\"torn\": \n", "r.jsonl"), Contains("r.jsonl line 2"));
  CHECK(read_record_lines("", "r.jsonl").records.empty());
}

TEST_CASE("records are read alike however the text is cut into pieces") {
  const std::string text = record_line(tests::measured_record("mha")) + "\n\n" +
                           record_line(tests::measured_record("gqa")) + "\r\n" + record_line(derived_record()) +
                           "\n{\"torn\"";
  const RecordLines whole_text = read_record_lines(text, "r.jsonl");
  REQUIRE(whole_text.records.size() == 2); // the derived one is the first case again
  REQUIRE(whole_text.notes.size() == 2);
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}, text.size() - 1}) {
    INFO(size);
    RecordLineReader reader("r.jsonl");
    for (std::size_t at = 0; at < text.size(); at += size) {
      reader.take(std::string_view(text).substr(at, size));
    }
    const RecordLines lines = reader.finish();
    CHECK(lines.notes == whole_text.notes);
    CHECK(lines.whole_bytes == whole_text.whole_bytes);
    REQUIRE(lines.records.size() == whole_text.records.size());
    for (std::size_t i = 0; i < lines.records.size(); ++i) {
      CHECK(whole(lines.records[i]) == whole(whole_text.records[i]));
    }
  }
}

TEST_CASE("a record is the same whatever the order of its keys") {
  const Json json = record_to_json(derived_record());
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

TEST_CASE("resuming cuts the torn tail off and keeps every whole line as it is") {
  tests::FakeFiles files;
  const std::string one = record_line(tests::measured_record("mha")) + "\n";
  files.texts["r.jsonl"] = one + "{\"torn\": ";
  RecordLines existing;
  RecordWriter writer = RecordWriter::resume(files, "r.jsonl", existing);
  CHECK(existing.records.size() == 1);
  writer.append(tests::measured_record("gqa"));
  CHECK(files.texts["r.jsonl"] == one + record_line(tests::measured_record("gqa")) + "\n");
}

TEST_CASE("resuming completes a whole record that only lacks its line end") {
  tests::FakeFiles files;
  const std::string one = record_line(tests::measured_record("mha"));
  files.texts["r.jsonl"] = one;
  RecordLines existing;
  RecordWriter writer = RecordWriter::resume(files, "r.jsonl", existing);
  CHECK(existing.records.size() == 1);
  CHECK(files.texts["r.jsonl"] == one + "\n");
  RecordLines none;
  RecordWriter::resume(files, "new.jsonl", none);
  CHECK(none.records.empty());
}

TEST_CASE("the last line of a case wins, in the place of the first") {
  profilers::Record failed = tests::measured_record("mha");
  failed.status = profilers::Status::kFailed;
  failed.measured.reset();
  const std::string text = record_line(failed) + "\n" + record_line(tests::measured_record("gqa")) + "\n" +
                           record_line(tests::measured_record("mha")) + "\n";
  const RecordLines lines = read_record_lines(text, "r.jsonl");
  REQUIRE(lines.records.size() == 2);
  CHECK(lines.records[0].config.text("variant") == "mha");
  CHECK(lines.records[0].status == profilers::Status::kOk);
  REQUIRE(lines.notes.size() == 1);
  CHECK_THAT(lines.notes[0], Contains("line 3 replaces"));
}

namespace {

/// Both readers of one text: what was read, or that it was refused.
struct ReadTwice {
  std::optional<Json> fast;
  std::optional<Json> portable;
  std::string fast_fault;
  std::string portable_fault;
};

ReadTwice read_twice(const std::string& text) {
  ReadTwice out;
  JsonDocument document;
  JsonParser parser;
  try {
    parser.read(text, "the text", document);
    out.fast = document.root().copy();
  } catch (const operators::Error& fault) {
    out.fast_fault = fault.what();
  }
  try {
    JsonParser::read_portably(text, "the text", document);
    out.portable = document.root().copy();
  } catch (const operators::Error& fault) {
    out.portable_fault = fault.what();
  }
  return out;
}

} // namespace

TEST_CASE("JSON is read alike by both parsers, and faults are explained in the same words") {
  const std::vector<std::string> texts = {
      "null", "true", "[]", "{}", "[[],{},[{}]]", "-0", "-0.0", "1e3", "0.1", "5e-324", "1.7976931348623157e308",
      "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
      "18446744073709551616", "1e400", "\"\"", "\"\\u00e9\\ud83d\\ude00\\n\\\"\"", "{\"a\":1,\"a\":2}",
      "{\"a\" : [1, 2.5, \"x\", null, {\"b\": false}]}  ", "\xef\xbb\xbf[1]",
      // refused
      "", " ", "[1,]", "{\"a\":}", "{a:1}", "01", "1.", ".5", "+1", "nul", "\"\\x\"", "\"\\ud800\"", "\"a\nb\"",
      "[1] 2", "NaN", "\"\xff\"", "{\"a\":1", "[\"open"};
  for (const std::string& text : texts) {
    INFO(text);
    const ReadTwice read = read_twice(text);
    CHECK(read.fast.has_value() == read.portable.has_value());
    CHECK(read.fast_fault == read.portable_fault);
    if (read.fast && read.portable) {
      CHECK(json_text(*read.fast) == json_text(*read.portable));
      CHECK(read.fast->type() == read.portable->type());
    }
  }
}

TEST_CASE("a line with a changed byte is read alike, or refused alike, by both parsers") {
  const std::string line = record_line(derived_record());
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = line;
    const std::size_t at = random() % text.size();
    if (round % 3 == 0) {
      text.resize(at);
    } else {
      text[at] =
          static_cast<char>(round % 3 == 1 ? random() % 256 : std::string_view("{}[]\":,-+.eE01\\ ")[random() % 16]);
    }
    const ReadTwice read = read_twice(text);
    INFO(text);
    REQUIRE(read.fast.has_value() == read.portable.has_value());
    REQUIRE(read.fast_fault == read.portable_fault);
    if (read.fast) {
      REQUIRE(json_text(*read.fast) == json_text(*read.portable));
    } else {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("a fault in a record names the way to it") {
  Json json = record_to_json(derived_record());
  json["kernels"][1]["macs"] = "many";
  CHECK_THROWS_WITH(record_from_json(json), Contains(", kernels[1]: 'macs' is \"many\", expected a 64-bit integer"));
  json = record_to_json(derived_record());
  json["measured"]["sample_conditions"]["steal_s"][0] = "none";
  CHECK_THROWS_WITH(record_from_json(json), Contains(", measured, sample_conditions: 'steal_s' is "));
  json["measured"] = 5;
  CHECK_THROWS_WITH(record_from_json(json), Contains(", measured is no JSON object but number"));
}
