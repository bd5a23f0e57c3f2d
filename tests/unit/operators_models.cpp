// Whole networks against the published figures of tests/data/truth.
#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/csv_rows.hpp"
#include "tests/support/paths.hpp"

#include <filesystem>

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

Totals totals(const std::string& id) {
  const Config config = resolve(parse_case_id(id));
  return cost_of(plan_launches(build(config), config.text("plan"))).totals;
}

bool is_known(const std::string& name) {
  return std::any_of(models().begin(), models().end(), [&](const auto& model) { return model.name == name; });
}

} // namespace

TEST_CASE("vision models: exact parameters and multiply-adds") {
  std::size_t checked = 0;
  for (auto& row : csv_rows(test_files_dir() / "truth" / "vision_models.csv")) {
    const std::string& model = row["model"];
    const std::string name = model.substr(0, model.find(' '));
    if (!is_known(name)) {
      continue;
    }
    INFO(model);
    const std::string folded = model.ends_with(" folded") ? ":folded=true" : "";
    const Totals got = totals("model=" + name + folded);
    CHECK(got.params.value() == std::stoll(row["params_exact"]));
    CHECK(got.work.macs.value() == std::stoll(row["mac_raw"]));
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("language models: exact parameters and cache bytes of every preset") {
  const auto rows = csv_rows(test_files_dir() / "truth" / "llm_models.csv");
  REQUIRE(rows.size() == 67);
  for (auto row : rows) {
    INFO(row["model"]);
    const Totals got = totals("model=" + row["model"] + ":phase=decode:seq_len=1:past_len=255:dtype=f16");
    CHECK(got.params.value() == std::stoll(row["recomputed_params"]));
    CHECK(got.kv_cache_bytes.value() == 256 * std::stoll(row["kv_bytes_per_token_fp16"]));
    const std::string& active = row["recomputed_active_params"];
    CHECK(got.active_params.value() == (active.empty() ? got.params.value() : std::stoll(active)));
  }
}

TEST_CASE("language models: a config.json and the preset of its name are the same network") {
  const std::string file = (source_dir() / "operators" / "decoder" / "presets" / "gpt2.json").string();
  CHECK(totals("model=" + file + ":seq_len=7").work.macs == totals("model=gpt2:seq_len=7").work.macs);
}

TEST_CASE("language models: multiply-adds of a token follow the closed form") {
  // Llama-3-8B, one token after 1023: projections and network of each block, scores and mix over 1024 keys, logits.
  const std::int64_t block = 4096LL * 4096 * 2 + 2LL * 4096 * 1024 + 3LL * 4096 * 14336 + 2LL * 1024 * 4096;
  CHECK(totals("model=llama-3-8b:phase=decode:past_len=1023").work.useful_macs.value() == 32 * block + 4096LL * 128256);
}

TEST_CASE("language models: two ranks add up to the whole where everything divides") {
  for (const char* rest : {":phase=decode:past_len=99:batch=3", ":phase=prefill:seq_len=17"}) {
    const Totals whole = totals(std::string("model=llama-3-8b") + rest);
    const Totals rank = totals(std::string("model=llama-3-8b:tp=2") + rest);
    CHECK((rank.work.macs * 2).value() == whole.work.macs.value());
    CHECK((rank.kv_cache_bytes * 2).value() == whole.kv_cache_bytes.value());
  }
}

TEST_CASE("language models: every rank keeps the one key head of multi-query attention") {
  const Totals whole = totals("model=gemma-2b:phase=decode:past_len=99");
  const Totals rank = totals("model=gemma-2b:phase=decode:past_len=99:tp=4");
  CHECK(rank.kv_cache_bytes == whole.kv_cache_bytes);
  CHECK(rank.params < whole.params);
}

TEST_CASE("language models: a sliding window bounds the cache and the work") {
  const Totals near = totals("model=mistral-7b-v0.1:phase=decode:past_len=8191");
  const Totals far = totals("model=mistral-7b-v0.1:phase=decode:past_len=65535");
  CHECK(near.kv_cache_bytes.value() == 32LL * 2 * 8 * 128 * 4096 * 4);
  CHECK(near.work.macs == far.work.macs);
}

TEST_CASE("language models: a prefill leaves in a sliding window's cache what the next token finds there") {
  for (const char* length : {"4095", "4096", "8192"}) {
    INFO(length);
    const Totals filled = totals(std::string("model=mistral-7b-v0.1:phase=prefill:seq_len=") + length);
    const Totals next = totals(std::string("model=mistral-7b-v0.1:phase=decode:past_len=") + length);
    CHECK(next.kv_cache_bytes.value() == 32LL * 2 * 8 * 128 * 4096 * 4);
    CHECK(filled.kv_cache_bytes.value() == 32LL * 2 * 8 * 128 * 4 * std::min(std::stoll(length), 4096LL));
  }
  const Totals chunk = totals("model=mistral-7b-v0.1:phase=prefill:seq_len=512:past_len=8192");
  CHECK(chunk.kv_cache_bytes.value() == 32LL * 2 * 8 * 128 * 4096 * 4);
}

TEST_CASE("language models: every released config.json gives the parameters that were published") {
  std::size_t checked = 0;
  for (auto row : csv_rows(test_files_dir() / "truth" / "released_decoders.csv")) {
    INFO(row["file"]);
    const std::string file = (test_files_dir() / "decoders" / "released" / (row["file"] + ".json")).string();
    const Totals got = totals("model=" + file + ":phase=decode:seq_len=1:past_len=0:dtype=f16");
    CHECK(got.params.value() == std::stoll(row["params"]));
    if (!row["active_params"].empty()) {
      CHECK(got.active_params.value() == std::stoll(row["active_params"]));
    }
    ++checked;
  }
  const auto begin = std::filesystem::directory_iterator(test_files_dir() / "decoders" / "released");
  CHECK(checked == static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator())));
}

TEST_CASE("language models: ranks, positions and names that do not fit are refused with the way out") {
  const auto message = [](const std::string& id) {
    try {
      (void)totals(id);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message("model=llama-3-8b:tp=3").find("--tp 3 does not divide the 32 query heads") != std::string::npos);
  // 14 query heads, 2 key heads, 4864 channels: 7 and 14 divide the heads, but neither divides or copies the rest.
  CHECK(message("model=qwen2.5-0.5b:tp=7").find("does not divide the 2 key heads of this model: use one of 1, 2") !=
        std::string::npos);
  CHECK(message("model=gpt2:seq_len=1025").find("1024 learned positions") != std::string::npos);
  CHECK(message("model=llama-3-9b").find("did you mean 'llama-3-8b'") != std::string::npos);
  CHECK(message("model=nowhere.json").find("nowhere.json") != std::string::npos);
}
