// The whole command line on a GPU that a plugin replays: what is recorded of it arrives in records and reports.
#include "tests/integration/cli_support.hpp"
#include "tests/support/paths.hpp"

#include <fstream>

using namespace attnprof::tests;
using nlohmann::json;

namespace {

json recording() {
  std::ifstream stream(test_files_dir() / "gpu" / "made_up_device.json");
  return json::parse(stream);
}

/// A workplace whose GPU replays this.
class GpuPlace {
 public:
  explicit GpuPlace(const json& recorded) { std::ofstream(place.file("recording.json")) << recorded; }
  RunResult run(const std::string& line) const {
    RunOptions options = place.options();
    options.environment["ATTNPROF_CUDA_PLUGIN"] = replayed_gpu();
    options.environment["ATTNPROF_GPU_RECORDING"] = place.file("recording.json").string();
    return run_binary(words(line), options);
  }
  Workplace place;
};

const std::string kCases = "--device cuda --variant mha,gqa --seq-len 16 --dim 16 --heads 4 --min-time 5ms --timeout 1";

} // namespace

TEST_CASE("gpu: a sweep has times of events and kernels, counters, and the state of the card", "[gpu]") {
  const GpuPlace gpu(recording());
  const RunResult result = gpu.run("sweep " + kCases + " -o out");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(has(result.out, "4 cases: 4 ok"));
  for (const auto& row : csv_rows(gpu.place.text("out/results.csv"))) {
    INFO(row.at("id"));
    CHECK(row.at("timer") == "cuda_events");
    CHECK(std::abs(std::stod(row.at("time_median_s")) - 2e-3) < 2e-5);
    CHECK(row.at("verified_by") == "reference");
    CHECK(row.at("device_name") == "replayed GPU");
    CHECK(row.at("device_level") == "counters");
    CHECK(row.at("device_level_reason").empty());
    CHECK(std::stod(row.at("kernel_time_s")) > 0);
    CHECK(std::stod(row.at("launch_gap_s")) > 0);
    CHECK(std::stod(row.at("sm_clock_hz")) == 1.755e9);
    CHECK(std::stod(row.at("temperature_c")) == 44);
    CHECK(std::stoi(row.at("throttled_samples")) > 0);
    CHECK(row.at("throttle_reasons") == "power cap");
    const auto launches = std::stoll(row.at("launches"));
    CHECK(std::stoll(row.at("dram_bytes")) == 4000 * launches);
    CHECK(std::stoll(row.at("fp_ops")) == 1150 * launches);
    CHECK(std::stoll(row.at("exp_instructions")) == 7 * 32 * launches);
    CHECK(row.at("tensor_ops").empty()); // of f32 none are counted
    CHECK(row.at("counter_passes") == "2");
    CHECK(has(row.at("counter_origin"), "CUPTI range profiler, one range a launch, 2 passes"));
    CHECK(has(row.at("warnings"), "the card lowered its clock during"));
  }
  for (const auto& row : csv_rows(gpu.place.text("out/kernels.csv"))) {
    INFO(row.at("scope"));
    CHECK(row.at("kernel_impl").starts_with("own "));
    const double time_s = std::stod(row.at("time_median_s"));
    CHECK((std::abs(time_s - 2e-5) < 1e-9 || std::abs(time_s - 4e-5) < 1e-9));
    CHECK(std::stoll(row.at("l2_bytes")) == 8000);
    CHECK(std::abs(std::stod(row.at("counted_bytes_ratio")) * std::stod(row.at("bytes")) - 4000) < 1);
  }
  // What the records hold is read back as it was.
  const std::string written = gpu.place.text("out/results.csv");
  REQUIRE(gpu.run("report out --csv again.csv").exit_code == 0);
  CHECK(gpu.place.text("again.csv") == written);
}

TEST_CASE("gpu: each level below counters says in every row why there is no more", "[gpu]") {
  json recorded = recording();
  recorded["level"] = "events";
  recorded["level_reason"] = "another profiler or debugger is attached to this process: run without it";
  const GpuPlace gpu(recorded);
  const RunResult result = gpu.run("sweep " + kCases + " --plan fused -o out");
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  for (const auto& row : csv_rows(gpu.place.text("out/results.csv"))) {
    CHECK(row.at("device_level") == "events");
    CHECK(row.at("device_level_reason") == recorded["level_reason"]);
    CHECK(row.at("counter_origin") == "unavailable: " + recorded["level_reason"].get<std::string>());
    CHECK(row.at("kernel_time_s").empty());
    CHECK(row.at("dram_bytes").empty());
    CHECK_FALSE(row.at("time_median_s").empty());
  }
}

TEST_CASE("gpu: after a fault that takes the device away later cases are device_lost, not wrong", "[gpu]") {
  json recorded = recording();
  recorded["fails_at_start"] = 3;
  const GpuPlace gpu(recorded);
  const RunResult result = gpu.run("sweep " + kCases + " -o out");
  INFO(result.err);
  CHECK(result.exit_code == 4);
  const auto rows = csv_rows(gpu.place.text("out/results.csv"));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].at("status") == "failed");
  CHECK(has(rows[0].at("reason"), "cudaErrorIllegalAddress"));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i].at("status") == "skipped");
    CHECK(has(rows[i].at("reason"), "device_lost"));
  }
  // Such rows are not final: a resumed sweep, in a new process, measures them.
  std::ofstream(gpu.place.file("recording.json")) << recording();
  const RunResult resumed = gpu.run("sweep " + kCases + " -o out --resume");
  INFO(resumed.err);
  CHECK(has(resumed.err, "1 of 4 rows are already there"));
}

TEST_CASE("gpu: the doctor names the device and its level, verify checks it", "[gpu]") {
  const GpuPlace gpu(recording());
  CHECK(has(gpu.run("doctor").out, "replayed GPU"));
  const RunResult verified = gpu.run("verify " + (test_files_dir() / "golden" / "mha.json").string());
  CHECK(verified.exit_code == 0);
  CHECK(has(verified.out, "cuda fused"));
}

TEST_CASE("gpu: a plugin that does not fit is exit 7 with the reason", "[gpu]") {
  const GpuPlace gpu(recording());
  RunOptions options = gpu.place.options();
  options.environment["ATTNPROF_CUDA_PLUGIN"] = binary();
  const RunResult result = run_binary(words("run " + kCases), options);
  CHECK(result.exit_code == 7);
  CHECK(has(result.err, "--device cpu"));
  options.environment["ATTNPROF_CUDA_PLUGIN"] = "/nowhere.so";
  CHECK(has(run_binary(words("run " + kCases), options).err, "does not exist"));
}

TEST_CASE("gpu: measured ceilings are a file that cases on the device are held against", "[gpu]") {
  const GpuPlace gpu(recording());
  const RunResult measured = gpu.run("machine measure --device cuda -o gpu.json");
  INFO(measured.err);
  REQUIRE(measured.exit_code == 0);
  CHECK(has(measured.out, "own copy of 1 GiB"));
  const RunResult swept = gpu.run("sweep " + kCases + " --hw gpu.json --counters off -o out");
  INFO(swept.err);
  REQUIRE(swept.exit_code == 0);
  for (const auto& row : csv_rows(gpu.place.text("out/results.csv"))) {
    CHECK_FALSE(row.at("roof_time_s").empty());
    CHECK(row.at("counter_origin") == "off: --counters off");
  }
  CHECK(gpu.run("machine show --device cuda").exit_code == 2);
  CHECK(gpu.run("machine measure --device cpu").exit_code == 2);
}
