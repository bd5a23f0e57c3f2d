// Records and ceilings with round numbers, for the tests of reports.
#pragma once
#include "operators/core/error.hpp"
#include "profilers/record.hpp"
#include "reports/derive.hpp"
#include "reports/files.hpp"
#include "reports/roofs.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attnprof::tests {

inline operators::LaunchCost launch_cost(std::string scope, std::string op, std::int64_t macs,
                                         std::int64_t vector_flops, std::int64_t transcendentals,
                                         std::int64_t bytes_read, std::int64_t bytes_written,
                                         std::int64_t working_set) {
  operators::LaunchCost cost;
  cost.scope = std::move(scope);
  cost.op = std::move(op);
  cost.shape = "m4 n4 k4";
  cost.work = {macs, macs, vector_flops, transcendentals};
  cost.bytes = {bytes_read, bytes_written, working_set};
  return cost;
}

/// Totals that are the sums of the launches.
inline void add_totals(profilers::Record& record) {
  operators::Totals totals;
  for (const auto& launch : record.launches) {
    totals.work += launch.cost.work;
    totals.bytes_read += launch.cost.bytes.read;
    totals.bytes_written += launch.cost.bytes.written;
  }
  totals.compulsory_bytes = 1000;
  totals.params = 300;
  totals.weight_bytes = 1200;
  totals.peak_activation_bytes = 5000;
  totals.launches = static_cast<std::int64_t>(record.launches.size());
  record.totals = totals;
}

/// A case that only `cost` has seen: a matrix product, a softmax and a copy.
inline profilers::Record counted_record(const std::string& variant = "mha") {
  profilers::Record record;
  record.id = "variant=" + variant + ":batch=2:seq_len=196";
  record.config.set("layout", std::string("op"));
  record.config.set("variant", variant);
  record.config.set("batch", std::int64_t{2});
  record.config.set("seq_len", std::int64_t{196});
  record.config.set("causal", false);
  record.config.set("mlp_ratio", 4.0);
  record.config.set("dtype", std::string("f32"));
  record.config.set("plan", std::string("eager"));
  record.launches = {{launch_cost("scores", "matmul", 1'000'000, 0, 0, 60'000, 40'000, 100'000), "", {}},
                     {launch_cost("softmax", "softmax", 0, 50'000, 10'000, 40'000, 40'000, 80'000), "", {}},
                     {launch_cost("merge", "copy", 0, 0, 0, 1'000'000, 1'000'000, 2'000'000), "", {}}};
  add_totals(record);
  return record;
}

/// The same, measured: 20 us, 10 us and 100 us of 140 us.
inline profilers::Record measured_record(const std::string& variant = "mha") {
  profilers::Record record = counted_record(variant);
  const double times_s[] = {20e-6, 10e-6, 100e-6};
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    record.launches[i].time_median_s = times_s[i];
    record.launches[i].kernel_impl = i == 0 ? "onednn" : "own_avx2";
  }
  profilers::Measurement measured;
  measured.samples_s = {140e-6, 139e-6, 1.0 / 7000.0};
  measured.conditions.resize(3);
  measured.conditions[1].page_faults = 4;
  measured.conditions[2].steal_s = 0.01;
  measured.time_median_s = 140e-6;
  measured.time_min_s = 139e-6;
  measured.time_ci_low_s = 139e-6;
  measured.time_ci_high_s = 1.0 / 7000.0;
  measured.time_mad_s = 1e-6 / 3.0;
  measured.stop_reason = profilers::StopReason::kMinTime;
  measured.stability = profilers::Stability::kNoisy;
  measured.stability_reason = "half-width 3 % of the median";
  measured.timer = "steady_clock";
  measured.timer_resolution_s = 3e-8;
  measured.page_faults = 4;
  measured.warmup_runs = 7;
  measured.cache_policy = profilers::CachePolicy::kWarm;
  record.measured = measured;
  record.kernel_impl = "own_avx2, onednn";
  record.threads = 2;
  record.counter_origin = "no counters: this machine has no PMU";
  record.machine_fingerprint = "cafe0123";
  record.max_relative_error = 2.5e-7;
  return record;
}

/// 100 GFLOP/s matrix, 50 vector, 1 exp; L1 100 kB at 400 GB/s, L2 1 MB at 200 GB/s, DRAM 20 GB/s.
inline reports::Roofs round_roofs() {
  reports::Roofs roofs;
  roofs.matrix = reports::UnitRoof{100e9, "fma f32", "measured"};
  roofs.vector = reports::UnitRoof{50e9, "add f32", "measured"};
  roofs.transcendental = reports::UnitRoof{1e9, "exp f32", "measured"};
  roofs.memory = {
      {"L1", 100'000, 400e9, "measured"}, {"L2", 1'000'000, 200e9, "measured"}, {"DRAM", {}, 20e9, "measured"}};
  return roofs;
}

/// The measured record, held against these.
inline profilers::Record derived_record() {
  profilers::Record record = measured_record();
  reports::derive(record, round_roofs());
  return record;
}

/// Files in memory. A path in `read_only` refuses to be written.
class FakeFiles final : public reports::Files {
 public:
  std::map<std::string, std::string> texts;
  std::vector<std::string> folders;
  std::string read_only;
  int flushes = 0;

  std::optional<std::string> read(const std::filesystem::path& path) override {
    const auto found = texts.find(path.string());
    return found == texts.end() ? std::optional<std::string>() : found->second;
  }
  void write(const std::filesystem::path& path, std::string_view text) override {
    refuse(path);
    texts[path.string()] = text;
  }
  std::unique_ptr<reports::LineFile> open_lines(const std::filesystem::path& path, std::size_t keep_bytes) override {
    refuse(path);
    texts[path.string()].resize(keep_bytes);
    return std::make_unique<Lines>(*this, path.string());
  }
  bool is_directory(const std::filesystem::path& path) override {
    return std::find(folders.begin(), folders.end(), path.string()) != folders.end();
  }
  void make_directory(const std::filesystem::path& path) override { folders.push_back(path.string()); }

 private:
  class Lines final : public reports::LineFile {
   public:
    Lines(FakeFiles& files, std::string path) : files_(files), path_(std::move(path)) {}
    void append(std::string_view line) override {
      files_.texts[path_].append(line).append("\n");
      ++files_.flushes;
    }

   private:
    FakeFiles& files_;
    std::string path_;
  };
  void refuse(const std::filesystem::path& path) const {
    if (!read_only.empty() && path.string().starts_with(read_only)) {
      throw operators::Error(operators::ErrorKind::kIo, "cannot write " + path.string());
    }
  }
};

} // namespace attnprof::tests
