#include "cli/batch_fit.hpp"
#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof;

namespace {

std::int64_t bytes_of(operators::Config config, std::int64_t batch) {
  config.set("batch", batch);
  const auto totals =
      operators::cost_of(operators::plan_launches(operators::build(config), config.text("plan"))).totals;
  return (totals.weight_bytes + totals.kv_cache_bytes + totals.peak_activation_bytes).value();
}

} // namespace

TEST_CASE("batch fit: the batch fits and one more does not") {
  for (const char* id : {"model=gpt2:phase=decode:past_len=100", "variant=mha:seq_len=64:plan=fused"}) {
    const operators::Config config = operators::resolve(operators::parse_case_id(id));
    for (const std::int64_t memory : {700'000'000LL, 1'000'000'000LL, 1'234'567'890LL}) {
      INFO(id << " " << memory);
      const cli::BatchFit fit = cli::largest_batch(config, memory);
      REQUIRE(fit.batch >= 1);
      CHECK(fit.needed_bytes == bytes_of(config, fit.batch));
      CHECK(fit.needed_bytes <= memory);
      CHECK(bytes_of(config, fit.batch + 1) > memory);
    }
  }
}

TEST_CASE("batch fit: experts whose routing is too long to be kept are counted") {
  const operators::Config config = operators::resolve(
      operators::parse_case_id("model=qwen3-30b-a3b:phase=prefill:seq_len=4096:dtype=f16:plan=fused"));
  const cli::BatchFit fit = cli::largest_batch(config, 141'000'000'000);
  CHECK(fit.batch > 32); // 33 * 4096 tokens * 128 experts are more scores than a float can number
  CHECK(bytes_of(config, fit.batch) <= 141'000'000'000);
  CHECK(bytes_of(config, fit.batch + 1) > 141'000'000'000);
}

TEST_CASE("batch fit: a case that cannot be counted even once is an error, not a batch of none") {
  operators::Config config = operators::resolve(operators::parse_case_id("variant=mha:seq_len=64"));
  config.set("seq_len", std::int64_t{1} << 40U);
  CHECK_THROWS_AS(cli::largest_batch(config, 1'000'000'000), operators::Error);
}

TEST_CASE("batch fit: weights that do not fit leave no batch") {
  const operators::Config config = operators::resolve(operators::parse_case_id("model=llama-3-8b:dtype=bf16"));
  const cli::BatchFit fit = cli::largest_batch(config, 8'000'000'000);
  CHECK(fit.batch == 0);
  CHECK(fit.needed_bytes > 16'000'000'000);
}
