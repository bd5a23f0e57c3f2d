// The small configurations of tests/data/decoders stand for every wiring of language models; in prefill, chunked
// prefill and decode, on one rank and on two.
#include "operators/exec/verify.hpp"
#include "tests/contract/check_counts.hpp"
#include "tests/support/paths.hpp"

#include <filesystem>

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

std::vector<Config> cases() {
  std::vector<Config> out;
  for (const auto& entry : std::filesystem::directory_iterator(test_files_dir() / "decoders")) {
    if (!entry.is_regular_file()) {
      continue; // released/ has networks of full size
    }
    for (const char* rest : {"phase=prefill:seq_len=5:logits=all", "seq_len=3:past_len=6:batch=2",
                             "phase=decode:past_len=9:batch=2", "phase=decode:past_len=4:tp=2"}) {
      out.push_back(resolve(parse_case_id("model=" + entry.path().string() + ":" + rest)));
    }
  }
  return out;
}

} // namespace

TEST_CASE("language models: counted operations and touched bytes equal the stated ones") {
  REQUIRE(cases().size() >= 32);
  for (const Config& config : cases()) {
    check_counts_of_both_plans(config);
  }
}

TEST_CASE("language models: both plans compute the same logits and caches") {
  for (const Config& config : cases()) {
    INFO(case_id(config));
    const Graph eager = build(config);
    const TensorValues a = run_reference(eager, reference_inputs(eager, 7));
    const Graph fused = plan_launches(eager, "fused");
    const TensorValues b = run_reference(fused, reference_inputs(fused, 7));
    REQUIRE(a.size() == b.size());
    for (const auto& [id, values] : a) {
      REQUIRE(values.size() == b.at(id).size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        REQUIRE(values[i] == Catch::Approx(b.at(id)[i]).margin(1e-12));
      }
    }
  }
}
