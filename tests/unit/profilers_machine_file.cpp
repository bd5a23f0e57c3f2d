#include "operators/core/error.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/machine_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_system.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace attnprof::profilers;
using attnprof::tests::FakeSystem;
namespace fs = std::filesystem;

namespace {

Machine sample_machine() {
  Machine machine;
  machine.fingerprint = "0123456789abcdef";
  machine.environment.cpu_model = "Made Up 2";
  machine.environment.isa_flags = {"avx2"};
  machine.environment.cores = 2;
  machine.environment.cpus = {0, 1};
  machine.environment.core_kinds = {{"cpu_core", {0}}, {"cpu_atom", {1}}};
  machine.environment.caches = {{1, "data", 32768, 64, 1, 2}, {2, "unified", 524288, 64, 1, 2}};
  machine.environment.smt = false;
  machine.timer = "steady_clock";
  machine.timer_resolution_s = 2e-8;
  machine.compute = {{"fma", "f32", "avx2", 1, 1e11, 9e10, 1.1e11, "measured"}};
  machine.bandwidth = {{"L2", "read", 1, 1e11, 9e10, 1.1e11, 131072, "measured"},
                       {"DRAM", "triad_nt", 2, 2e10, 1e10, 3e10, 268435456, "measured"}};
  machine.levels = {{"L2", 1, 524288, "curve"}, {"DRAM", 1, std::nullopt, "curve"}};
  machine.curves = {{1, {{4096, 1e11}, {8192, 1.1e11}}}};
  machine.absent = {{"bf16_dot", "bf16", "avx512", "this processor does not run x86-64-v4"}};
  machine.notes = {"a note"};
  machine.launch_overheads = {{1, 5e-8}, {2, 3e-6}};
  machine.measured_on = "2026-03-01T12:00:00Z";
  return machine;
}

} // namespace

TEST_CASE("a machine survives JSON") {
  const Machine machine = sample_machine();
  const auto json = machine_to_json(machine);
  const Machine back = machine_from_json(json);
  CHECK(machine_to_json(back) == json);
  CHECK(back.compute == machine.compute);
  CHECK(back.bandwidth == machine.bandwidth);
  CHECK(back.levels == machine.levels);
  CHECK(back.curves == machine.curves);
  CHECK(back.absent == machine.absent);
  CHECK(back.launch_overheads == machine.launch_overheads);
  CHECK(back.measured_on == machine.measured_on);
  CHECK(back.environment.caches == machine.environment.caches);
  CHECK(back.environment.core_kinds == machine.environment.core_kinds);
  CHECK(*back.environment.smt == false);
  CHECK_FALSE(back.cpu_clock_hz);
  CHECK_FALSE(back.environment.governor);

  CHECK(json.at("cpu_clock_hz").is_null());
  CHECK(json.at("environment").at("governor").is_null());
  CHECK(json.at("levels")[1].at("capacity_bytes").is_null());
  const std::string text = json.dump();
  for (const char* word : {"\"bandwidth\"", "\"f32\"", "\"L2\"", "\"DRAM\"", "\"L1\""})
    CHECK(text.find(word) != std::string::npos);
}

TEST_CASE("a machine of an earlier program lacks what that one did not measure") {
  auto json = machine_to_json(sample_machine());
  json.erase("launch_overheads");
  json.erase("measured_on");
  const Machine back = machine_from_json(json);
  CHECK(back.launch_overheads.empty());
  CHECK_FALSE(back.measured_on);
  CHECK(back.bandwidth == sample_machine().bandwidth);
}

TEST_CASE("malformed machines are refused with what is wrong") {
  using attnprof::operators::Error;
  const auto refuses = [](const auto& spoil, const std::string& word) {
    auto json = machine_to_json(sample_machine());
    spoil(json);
    try {
      machine_from_json(json);
      return false;
    } catch (const Error& error) {
      return std::string(error.what()).find(word) != std::string::npos;
    }
  };
  CHECK(refuses([](auto& json) { json["schema_version"] = 0; }, "schema version 0"));
  CHECK(refuses([](auto& json) { json.erase("bandwidth"); }, "bandwidth"));
  CHECK(refuses([](auto& json) { json["compute"][0]["per_s"] = "fast"; }, "malformed"));
  CHECK(refuses([](auto& json) { json["compute"][0]["per_s"] = nullptr; }, "malformed"));
  CHECK(refuses([](auto& json) { json = nlohmann::ordered_json::array(); }, "malformed"));
}

TEST_CASE("the default place of the machine file") {
  const auto variables = [](std::optional<std::string> cache, std::optional<std::string> home) {
    return [=](const std::string& name) { return name == "XDG_CACHE_HOME" ? cache : home; };
  };
  CHECK(*default_machine_path("ab", variables("/c", "/h")) == "/c/attnprof/machine-ab.json");
  CHECK(*default_machine_path("ab", variables(std::nullopt, "/h")) == "/h/.cache/attnprof/machine-ab.json");
  CHECK(*default_machine_path("ab", variables("relative", "/h")) == "/h/.cache/attnprof/machine-ab.json");
  CHECK_FALSE(default_machine_path("ab", variables(std::nullopt, std::nullopt)));
}

TEST_CASE("a saved machine is loaded, any other file is measured again with a warning") {
  const FakeSystem folder;
  const fs::path path = folder.root() / "new" / "machine.json";
  int measured = 0;
  const auto measure = [&] {
    ++measured;
    return sample_machine();
  };
  std::vector<std::string> warnings;
  const std::string expected = sample_machine().fingerprint;

  load_or_measure(path, expected, measure, warnings);
  CHECK(measured == 1);
  CHECK(warnings.empty());
  CHECK(fs::exists(path));
  CHECK(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator{}) == 1);

  load_or_measure(path, expected, measure, warnings);
  CHECK(measured == 1);
  CHECK(warnings.empty());

  SECTION("another machine's") {
    CHECK_FALSE(load_machine(path, "other", warnings));
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("another machine") != std::string::npos);
    CHECK(warnings[0].find(expected) != std::string::npos);
  }
  SECTION("no JSON") {
    std::ofstream(path) << "{ torn";
    load_or_measure(path, expected, measure, warnings);
    CHECK(measured == 2);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("no JSON") != std::string::npos);
    CHECK(read_machine_file(path).fingerprint == expected); // replaced
  }
  SECTION("an older layout") {
    auto json = machine_to_json(sample_machine());
    json["schema_version"] = 0;
    std::ofstream(path) << json.dump();
    load_or_measure(path, expected, measure, warnings);
    CHECK(measured == 2);
    CHECK(warnings.size() == 1);
  }
  SECTION("a folder in its place") {
    fs::remove(path);
    fs::create_directory(path);
    load_or_measure(path, expected, measure, warnings);
    CHECK(measured == 2);
    CHECK(warnings.size() == 2); // can neither be read nor replaced
  }
  SECTION("nowhere to keep it") {
    load_or_measure(std::nullopt, expected, measure, warnings);
    CHECK(measured == 2);
    CHECK(warnings.empty());
  }
}

TEST_CASE("paths that cannot be read or written are errors that name them") {
  using attnprof::operators::Error;
  const FakeSystem folder;
  CHECK_THROWS_AS(read_machine_file(folder.root() / "absent.json"), Error);
  std::ofstream(folder.root() / "file") << "x";
  try {
    save_machine(sample_machine(), folder.root() / "file" / "machine.json");
    FAIL("a file is no folder");
  } catch (const Error& error) {
    CHECK(error.kind() == attnprof::operators::ErrorKind::kIo);
    CHECK(std::string(error.what()).find("machine.json") != std::string::npos);
  }
}
