// What is wrong with a request is said in one or two lines that name the culprit, with exit 2, before anything runs.
#include "tests/integration/cli_support.hpp"

#include <algorithm>

using namespace attnprof::tests;

namespace {

void refused(const std::string& line, const std::vector<std::string>& parts) {
  const Workplace place;
  const RunResult result = place.run(line);
  INFO(line << "\n" << result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("attnprof: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') <= 2);
  CHECK_FALSE(has(result.err, "terminate"));
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(has(result.err, part));
  }
  CHECK(std::filesystem::is_empty(place.options().working_directory)); // BUG-076: runs nothing, writes nothing
}

} // namespace

TEST_CASE("usage: a case of any size is counted, and one that does not fit the memory is not begun") {
  const Workplace place;
  const std::string large = " --variant window --grid 1000000x1000000";
  CHECK(place.run("cost" + large).exit_code == 0);
  const RunResult run = place.run("run" + large);
  CHECK(run.exit_code == 4);
  CHECK(has(run.err, "GiB"));
}

TEST_CASE("usage: flags, names and values (BUG-072 to BUG-077)") {
  refused("cost --variant gqa --kv-head 2", {"--kv-head", "--kv-heads"});
  refused("sweep --seqlen 512", {"--seqlen", "--seq-len"});
  refused("run --variant mha --repeets 3", {"--repeets", "--repetitions"});
  refused("cost --variant mhha", {"mhha", "mha", "gqa"});
  refused("cost --layout sandwhich", {"sandwhich", "sandwich"});
  refused("swep --variant mha", {"swep", "sweep"});
  refused("cost --variant mha --heads 0", {"--heads", "0"});
  refused("cost --variant mha --heads -1", {"--heads", "-1"});
  refused("sweep --variant mha --batch 0", {"--batch"});
  refused("cost --variant mha --seq-len 99999999999999999999", {"--seq-len", "4000000000"});
  refused("cost --variant mha --seq-len 9223372036854775808", {"--seq-len", "4000000000"});
  refused("cost --variant mha --seq-len 64x", {"64x"});
  refused("run --variant mha --threads 100000", {"--threads '100000'", "1024"});
  refused("cost --layout standard --depth 4000000000", {"--depth '4000000000'", "1000"});
  refused("run --variant cga --dim 4000000000 --heads 4000000000", {"launches"});
  refused("cost --variant mha --seq-len 1:64", {"--seq-len", "step"});
  refused("cost --variant mha --seq-len 5:1:1", {"--seq-len", "empty"});
  refused("cost --variant mha --dtype f33", {"--dtype", "bf16"});
  refused("cost --variant mha --seq-len", {"--seq-len"});
  refused("", {"command"});
  refused("--variant mha", {"command"});
}

TEST_CASE("usage: values that contradict each other") {
  refused("cost --variant mha --dim 100 --heads 7", {"--heads 7", "--dim 100"});
  refused("run --variant gqa --dim 64 --heads 8 --kv-heads 5", {"--kv-heads 5"});
  refused("sweep --variant cga --dim 64 --heads 4 --v-dim 8", {"--v-dim 8"});
  refused("cost --variant mha --grid 7x7 --seq-len 50", {"--seq-len 50", "--grid 7x7"});
  refused("cost --variant mha --batch 1000000 --seq-len 4000000000 --dim 8192 --heads 64", {"64-bit"}); // BUG-070
  refused("sweep --variant mha --plan eager --batch 1000000 --seq-len 4000000000 --dim 8192 --heads 64", {"64-bit"});
}

TEST_CASE("usage: flags that apply to nothing that was chosen") {
  refused("cost --variant mha --kv-heads 2", {"--kv-heads", "gqa"});
  refused("cost --variant mha --n-ffn 2", {"--n-ffn", "sandwich"});
  refused("cost --layout ffn --variant mha", {"--variant"});
  refused("run --variant mha --resume", {"--resume", "sweep"});
}

TEST_CASE("usage: selections, shards, times and ratios") {
  refused("sweep --variant mha --filter mqa", {"no case matches", "mqa"});
  refused("sweep --variant mha --where 'heads > 3'", {"no case matches", "heads > 3"});
  refused("sweep --variant mha --where 'headz > 3'", {"headz", "^", "heads"});
  refused("sweep --variant mha --shard 4/3", {"--shard", "4/3"});
  refused("sweep --variant mha --budget soon", {"--budget", "soon"});
  refused("sweep --variant mha --threshold 5", {"--threshold", "5%"});
  refused("sweep --variant mha --metric time", {"time"});
  refused("sweep --variant mha --cache lukewarm", {"--cache", "cold"});
  refused("sweep --variant mha --fail-on regres", {"regres", "regress"});
}

TEST_CASE("usage: paths") {
  refused("report nowhere/at/all", {"nowhere/at/all"});
  refused("compare nowhere there", {"nowhere"});
  refused("sweep --variant mha -o /proc/denied", {"/proc/denied"});
  refused("sweep --variant mha --baseline nowhere", {"nowhere"});
  refused("sweep --config nowhere.toml", {"nowhere.toml"});
  refused("cost --variant mha --hw nowhere.json", {"nowhere.json"});
  refused("verify nowhere.json", {"nowhere.json"});
  refused("cost --model nowhere/config.json", {"nowhere/config.json"});
  refused("merge nowhere -o whole", {"nowhere"});
  refused("cost stray", {"stray"});
}

TEST_CASE("usage: a run that measures nothing is no success") {
  const Workplace place;
  const RunResult unsupported = place.run("run --variant mha --dtype f16 --seq-len 16 --dim 16 --heads 2");
  INFO(unsupported.err);
  CHECK(unsupported.exit_code == 7);
  CHECK(has(unsupported.err, "no case was measured"));
  const RunResult skipped = place.run("run --variant mha --seq-len 524288 --dim 16 --heads 2");
  INFO(skipped.err);
  CHECK(skipped.exit_code == 4);
  CHECK(has(place.run("run --variant mha --filter nothing_like_it").err, "attnprof sweep --dry-run"));
}

TEST_CASE("usage: a device that is absent is exit 7 with the reason") {
  const Workplace place;
  const RunResult result = place.run("run --device cuda --variant mha --seq-len 16 --dim 16 --heads 2");
  if (result.exit_code != 0) { // on a host with a GPU and the plugin it runs
    CHECK(result.exit_code == 7);
    CHECK(has(result.err, "cuda"));
    CHECK(has(result.err, "--device cpu"));
  }
}
