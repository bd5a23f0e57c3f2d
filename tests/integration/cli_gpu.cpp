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
  // Beside what was measured stands what others state, each with its source.
  CHECK(has(measured.out, "CUPTI sustained"));
  CHECK(has(measured.out, "DRAM, CUPTI: CUPTI, made up"));
  const json written = json::parse(gpu.place.text("gpu.json"));
  CHECK(written["beside"].size() == 2);
  CHECK(written["beside"][0]["origin"] == "cupti");
  CHECK(written["compute"].size() == 3);
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

TEST_CASE("gpu: the ceilings of a card with a data sheet stand beside those of the sheet", "[gpu]") {
  json recorded = recording();
  recorded["device"]["name"] = "NVIDIA H200";
  recorded["sustained"] = json::array();
  recorded["sustained_refusal"] = "the driver lets only administrators read counters";
  const GpuPlace gpu(recorded);
  const RunResult measured = gpu.run("machine measure --device cuda");
  INFO(measured.err);
  CHECK(has(measured.out, "4.80 TB/s"));
  CHECK(has(measured.out, "DRAM, data sheet: NVIDIA H200 data sheet"));
  CHECK(has(measured.out, "no peaks of CUPTI: the driver lets only administrators read counters"));
}

TEST_CASE("gpu: products in tf32 are an axis of their own, and only where they can be", "[gpu]") {
  const GpuPlace gpu(recording());
  const RunResult swept = gpu.run("sweep --device cuda --variant mha --seq-len 16 --dim 16 --heads 4 --plan eager "
                                  "--math f32,tf32 --dtype f32,bf16 --min-time 5ms --timeout 1 --hw a100 -o out");
  INFO(swept.err);
  const auto rows = csv_rows(gpu.place.text("out/results.csv"));
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) {
    INFO(row.at("id"));
    const bool tf32 = row.at("math") == "tf32";
    CHECK(has(row.at("id"), ":math=tf32") == tf32);
    if (row.at("dtype") == "bf16") {
      CHECK(row.at("status") == (tf32 ? "invalid" : "ok"));
      continue;
    }
    CHECK(row.at("status") == "ok");
    CHECK(has(row.at("kernel_impl"), "of tf32") == tf32);
    CHECK((std::stod(row.at("max_relative_error")) > 5e-5) == tf32);
    CHECK(std::stod(row.at("max_relative_error")) < 5e-3);
  }
  const RunResult host =
      run_binary(words("run --variant mha --seq-len 16 --dim 16 --heads 4 --math tf32 --json"), gpu.place.options());
  CHECK(has(host.out, "\"unsupported\""));
  CHECK(has(host.out, "--device cuda"));
}

TEST_CASE("gpu: what a device answered is recorded, and replays as the same figures", "[gpu]") {
  const GpuPlace first(recording());
  const std::string sweep = "sweep " + kCases + " --plan eager -o out";
  {
    RunOptions options = first.place.options();
    options.environment["ATTNPROF_CUDA_PLUGIN"] = replayed_gpu();
    options.environment["ATTNPROF_GPU_RECORDING"] = first.place.file("recording.json").string();
    options.environment["ATTNPROF_GPU_RECORD"] = first.place.file("recorded.json").string();
    REQUIRE(run_binary(words(sweep), options).exit_code == 0);
    REQUIRE(run_binary(words("machine measure --device cuda"), options).exit_code == 0);
    options.environment["ATTNPROF_GPU_RECORD"] = "/nowhere/recorded.json";
    const RunResult refused = run_binary(words(sweep + "2"), options);
    CHECK(refused.exit_code != 0);
    CHECK(has(refused.err + refused.out, "ATTNPROF_GPU_RECORD names '/nowhere/recorded.json'"));
  }
  const json recorded = json::parse(first.place.text("recorded.json"));
  CHECK(has(recorded["origin"].get<std::string>(), "recorded by attnprof"));
  CHECK(recorded["metrics"]["dram__bytes_read.sum"].size() > 1); // the counting processes wrote theirs
  CHECK(recorded["ceilings"].size() == 5);
  const GpuPlace second(recorded);
  REQUIRE(second.run(sweep).exit_code == 0);
  const auto before = csv_rows(first.place.text("out/results.csv"));
  const auto after = csv_rows(second.place.text("out/results.csv"));
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const char* column : {"id", "device_name", "device_level", "dram_bytes", "fp_ops", "exp_instructions"}) {
      INFO(column);
      CHECK(before[i].at(column) == after[i].at(column));
    }
  }
}

TEST_CASE("gpu: every recording of the tests' data replays through the command line", "[gpu]") {
  std::size_t replayed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_files_dir() / "gpu")) {
    INFO(entry.path());
    std::ifstream stream(entry.path());
    const GpuPlace gpu(json::parse(stream));
    const RunResult result = gpu.run("sweep " + kCases + " -o out");
    INFO(result.err);
    CHECK(result.exit_code == 0);
    CHECK(gpu.run("machine measure --device cuda").exit_code == 0);
    ++replayed;
  }
  CHECK(replayed >= 1);
}
