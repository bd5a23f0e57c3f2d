#include "cli/run_manifest.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/text.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <algorithm>

using namespace attnprof;
using cli::RunManifest;
using tests::mentions;

namespace {

RunManifest manifest() {
  RunManifest out;
  out.settings = cli::measuring_settings({});
  out.host = "0123456789abcdef";
  out.ceilings = out.host;
  out.cases = 7;
  return out;
}

std::string refusal_of(const RunManifest& earlier, const RunManifest& now) {
  try {
    cli::require_same_run(earlier, now, "out");
  } catch (const operators::Error& error) {
    CHECK(error.kind() == operators::ErrorKind::kUsage);
    return error.what();
  }
  return "accepted";
}

} // namespace

TEST_CASE("run manifest: every measuring flag is a setting, or a new one would be mixed without a word") {
  const std::vector<cli::Setting> settings = cli::measuring_settings({});
  for (const cli::OptionSpec& option : cli::measuring_options()) {
    INFO(option.name);
    CHECK(std::any_of(settings.begin(), settings.end(), [&](const auto& one) { return one.name == option.name; }));
  }
}

TEST_CASE("run manifest: what is written is read again") {
  tests::FakeFolders files;
  RunManifest written = manifest();
  written.shard = {2, 3};
  CHECK_FALSE(cli::read_manifest(files, "out"));
  cli::write_manifest(files, written, "out");
  const auto read = cli::read_manifest(files, "out");
  REQUIRE(read);
  CHECK(read->settings == written.settings);
  CHECK(read->host == written.host);
  CHECK(read->shard.index == 2);
  CHECK(read->shard.count == 3);
  CHECK(read->cases == 7);
  CHECK(refusal_of(*read, written) == "accepted");
  files.contents["out/run.json"] = "{\"schema_version\": 1, \"shard\": \"9/3\", \"cases\": 1}";
  CHECK_THROWS_AS(cli::read_manifest(files, "out"), operators::Error);
}

TEST_CASE("run manifest: each setting that differs is named with both values and the way out") {
  const auto changed = [](auto change) {
    cli::MeasuringRequest request;
    change(request);
    RunManifest out = manifest();
    out.settings = cli::measuring_settings(request);
    return refusal_of(manifest(), out);
  };
  const std::string timeout = changed([](auto& r) { r.timing.timeout_s = 1; });
  CHECK(mentions(timeout, "'out'"));
  CHECK(mentions(timeout, "with --timeout 5"));
  CHECK(mentions(timeout, "with --timeout 1"));
  CHECK(mentions(timeout, "--resume"));
  CHECK(mentions(timeout, "-o"));
  CHECK(mentions(changed([](auto& r) { r.timing.repetitions = 3; }), "without --repetitions"));
  CHECK(mentions(changed([](auto& r) { r.timing.warmup = 3; }), "--warmup 3"));
  CHECK(mentions(changed([](auto& r) { r.timing.min_time_s = 1; }), "--min-time 1"));
  CHECK(mentions(changed([](auto& r) { r.timing.max_noise = 0.5; }), "--max-noise 0.5"));
  CHECK(mentions(changed([](auto& r) { r.cache_policy = profilers::CachePolicy::kCold; }), "--cache cold"));
  CHECK(mentions(changed([](auto& r) { r.seed = 9; }), "--seed 9"));
  CHECK(changed([](auto&) {}) == "accepted");

  RunManifest other = manifest();
  other.shard = {1, 2};
  CHECK(mentions(refusal_of(manifest(), other), "--shard 1/2"));
  other = manifest();
  other.settings.push_back({"--isolate", "true"}); // a setting that only one of them knows
  CHECK(mentions(refusal_of(manifest(), other), "without --isolate"));
  CHECK(mentions(refusal_of(other, manifest()), "with --isolate true"));
  other = manifest();
  other.cases = 99; // a larger plan goes on with the rows that are there
  CHECK(refusal_of(manifest(), other) == "accepted");
}

TEST_CASE("run manifest: another machine and other ceilings are told apart") {
  RunManifest other = manifest();
  other.host = "fedcba9876543210";
  CHECK(mentions(refusal_of(manifest(), other), "another machine or build"));
  CHECK(mentions(refusal_of(manifest(), other), "fedcba9876543210"));
  other = manifest();
  other.ceilings = "sheet";
  CHECK(mentions(refusal_of(manifest(), other), "--hw"));
}
