#include "reports/families.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;

namespace {

profilers::Record in_phase(const std::string& variant, const std::string& phase, std::int64_t seq_len,
                           std::int64_t past_len, std::int64_t cache_bytes) {
  profilers::Record record = tests::measured_record(variant);
  record.config.set("phase", phase);
  record.config.set("seq_len", seq_len);
  record.config.set("past_len", past_len);
  record.totals->kv_cache_bytes = cache_bytes;
  return record;
}

profilers::Record with(profilers::Record record, const std::string& name, operators::Value value) {
  record.config.set(name, std::move(value));
  return record;
}

} // namespace

TEST_CASE("plans pair up where nothing else differs") {
  const profilers::Record eager = tests::measured_record("mha");
  const profilers::Record fused = with(eager, "plan", std::string("fused"));
  const profilers::Record longer = with(fused, "seq_len", std::int64_t{400});
  profilers::Record failed = with(eager, "seq_len", std::int64_t{400});
  failed.status = profilers::Status::kFailed;
  const auto pairs = plan_pairs({longer, fused, failed, eager, with(fused, "variant", std::string("gqa"))});
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0] == std::pair<std::size_t, std::size_t>(3, 1));
  CHECK(plan_pairs({}).empty());
}

TEST_CASE("a trajectory runs from short to long prefill, then along the decoded tokens") {
  const std::vector<profilers::Record> records = {
      in_phase("mha", "decode", 1, 511, 0),  in_phase("mha", "prefill", 512, 0, 0),
      in_phase("mqa", "decode", 1, 511, 0),  in_phase("mha", "prefill", 128, 0, 0),
      in_phase("mha", "decode", 1, 127, 0),  in_phase("mqa", "prefill", 128, 0, 0),
      in_phase("gqa", "prefill", 128, 0, 0), tests::measured_record("mha")};
  const auto found = trajectories(records);
  REQUIRE(found.size() == 2); // gqa has one phase only
  CHECK(found[0].name == "mha");
  CHECK(found[0].records == std::vector<std::size_t>{3, 1, 4, 0});
  CHECK(found[1].name == "mqa");
  CHECK(found[1].records == std::vector<std::size_t>{5, 2});
}

TEST_CASE("caches grow by tokens, measured or not; cases without a cache have none") {
  profilers::Record counted = in_phase("mha", "decode", 1, 1023, 4096);
  counted.measured.reset();
  const auto growth =
      cache_growth({counted, in_phase("mha", "prefill", 512, 0, 2048), in_phase("mha", "decode", 1, 511, 2048),
                    in_phase("mqa", "decode", 1, 511, 64), tests::measured_record("gqa")});
  REQUIRE(growth.size() == 2);
  REQUIRE(growth[0].points.size() == 2); // 512 tokens once
  CHECK(growth[0].points[0].record == 1);
  CHECK(growth[0].points[0].length == 512);
  CHECK(growth[0].points[1].bytes == 4096);
  CHECK(growth[1].points[0].bytes == 64);
}

TEST_CASE("attention passes are the mixers that run") {
  profilers::Record record = tests::measured_record();
  CHECK(attention_passes(record) == 1); // layout op is one mixer
  record.config.set("layout", std::string("standard"));
  CHECK(attention_passes(record) == 0);
  for (const char* scope : {"block0/mixer/scores", "block0/mixer/mix", "block0/ffn/fc1", "block1/mixer/scores",
                            "stage2/block0/mixer/q_proj", "block2/premixer/x"}) {
    record.launches.push_back({tests::launch_cost(scope, "matmul", 1, 0, 0, 1, 1, 1), "", {}});
  }
  CHECK(attention_passes(record) == 3);
  record.launches.clear();
  CHECK_FALSE(attention_passes(record));
}

TEST_CASE("layouts of one shape are one family, whatever belongs to the layout alone") {
  const profilers::Record standard = with(tests::measured_record("mha"), "layout", std::string("standard"));
  const profilers::Record sandwich = with(with(standard, "layout", std::string("sandwich")), "n_ffn", std::int64_t{2});
  const profilers::Record other = with(standard, "seq_len", std::int64_t{49});
  const auto families = layout_families({standard, other, sandwich});
  REQUIRE(families.size() == 2);
  CHECK(families[0].records == std::vector<std::size_t>{2, 0}); // by layout
  CHECK(families[0].layouts == 2);
  CHECK(families[1].layouts == 1);
}

TEST_CASE("every primitive has a class of kernels") {
  CHECK(kernel_class("matmul") == "matrix products");
  CHECK(kernel_class("depthwise_conv2d") == "convolutions");
  CHECK(kernel_class("gather") == "copies");
  CHECK(kernel_class("rope") == "element-wise");
}
