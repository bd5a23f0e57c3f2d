#include "profilers/gpu/recording_device.hpp"

#include "attnprof_version.hpp"
#include "operators/core/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace attnprof::profilers {
namespace {

namespace gpu = operators::gpu;
using operators::Error;
using operators::ErrorKind;

constexpr std::size_t kMostValues = 512;

template <class Value>
void keep(std::vector<Value>& list, Value value) {
  if (list.size() < kMostValues) {
    list.push_back(std::move(value));
  }
}

nlohmann::json number(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json facts_json(const gpu::DeviceFacts& facts) {
  return {{"name", facts.name},
          {"chip", facts.chip},
          {"compute_major", facts.compute_major},
          {"compute_minor", facts.compute_minor},
          {"multiprocessors", facts.multiprocessors},
          {"memory_bytes", facts.memory_bytes},
          {"l2_bytes", facts.l2_bytes},
          {"shared_bytes", facts.shared_bytes},
          {"driver_version", facts.driver_version},
          {"runtime_version", facts.runtime_version}};
}

nlohmann::json ceilings_json(const std::vector<gpu::DeviceCeiling>& ceilings) {
  nlohmann::json out = nlohmann::json::array();
  for (const gpu::DeviceCeiling& one : ceilings) {
    out.push_back({{"what", one.what}, {"per_s", one.per_s}, {"source", one.source}});
  }
  return out;
}

class RecordingDevice final : public gpu::Device {
 public:
  RecordingDevice(std::shared_ptr<gpu::Device> device, std::filesystem::path file)
      : device_(std::move(device)), file_(std::move(file)) {}
  ~RecordingDevice() override {
    try {
      write_file();
    } catch (const std::exception& error) {
      fmt::print(stderr, "attnprof: the recording {} was not written: {}\n", file_.string(), error.what());
    }
  }

  const gpu::DeviceFacts& facts() const override { return device_->facts(); }
  std::byte* allocate(std::int64_t bytes) override { return device_->allocate(bytes); }
  void release(std::byte* memory) override { device_->release(memory); }
  std::int64_t free_bytes() override { return device_->free_bytes(); }
  void write(std::byte* to, std::span<const std::byte> from) override { device_->write(to, from); }
  void read(std::span<std::byte> to, const std::byte* from) override { device_->read(to, from); }
  std::int64_t workspace_bytes(const gpu::LaunchArgs& args) override { return device_->workspace_bytes(args); }
  std::unique_ptr<gpu::Kernel> prepare(const gpu::LaunchArgs& args) override { return device_->prepare(args); }
  void synchronize() override { device_->synchronize(); }
  void flush_cache() override { device_->flush_cache(); }

  double time_s(const std::function<void()>& body, bool queued) override {
    const double taken_s = device_->time_s(body, queued);
    keep(sample_s_, taken_s);
    return taken_s;
  }
  gpu::LevelReport level() override {
    level_ = device_->level();
    return *level_;
  }
  gpu::ActivityReport trace(std::size_t count, const std::function<void(std::size_t)>& run_launch) override {
    gpu::ActivityReport out = device_->trace(count, run_launch);
    std::vector<gpu::KernelSpan> kernels = out.kernels;
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      keep(kernel_s_, 1e-9 * static_cast<double>(kernels[i].end_ns - kernels[i].begin_ns));
      if (i > 0) {
        const auto gap_ns = static_cast<double>(kernels[i].begin_ns - kernels[i - 1].end_ns);
        keep(gap_s_, std::max(0.0, 1e-9 * gap_ns));
      }
    }
    return out;
  }
  gpu::CounterReport count(const std::vector<std::string>& metrics, std::size_t count,
                           const std::function<void(std::size_t)>& run_launch) override {
    gpu::CounterReport out = device_->count(metrics, count, run_launch);
    passes_ = std::max(passes_, out.passes);
    for (const std::vector<double>& launch : out.values) {
      for (std::size_t i = 0; i < std::min(launch.size(), metrics.size()); ++i) {
        keep(metrics_[metrics[i]], launch[i]);
      }
    }
    return out;
  }
  std::vector<std::string> metric_names() override { return device_->metric_names(); }
  gpu::CardState card_state() override {
    gpu::CardState out = device_->card_state();
    keep(cards_, nlohmann::json{{"sm_clock_hz", number(out.sm_clock_hz)},
                                {"memory_clock_hz", number(out.memory_clock_hz)},
                                {"temperature_c", number(out.temperature_c)},
                                {"power_w", number(out.power_w)},
                                {"throttle_reasons", out.throttle_reasons}});
    return out;
  }
  gpu::DeviceCeilings measure_ceilings() override {
    ceilings_ = device_->measure_ceilings();
    return *ceilings_;
  }

 private:
  /// What an earlier process wrote; empty where nothing did.
  [[nodiscard]] nlohmann::json earlier() const {
    std::ifstream stream(file_);
    const nlohmann::json out = nlohmann::json::parse(stream, nullptr, false);
    return out.is_object() ? out : nlohmann::json::object();
  }

  void write_file() const {
    nlohmann::json out = earlier();
    const auto put = [&](const char* key, const auto& list) {
      if (!list.empty() || !out.contains(key)) {
        out[key] = list;
      }
    };
    out["origin"] =
        fmt::format("recorded by attnprof {} on {}, driver {}", kVersion, facts().name, facts().driver_version);
    out["device"] = facts_json(facts());
    if (level_ || !out.contains("level")) {
      const gpu::LevelReport reached = level_.value_or(gpu::LevelReport{gpu::Level::kEvents, "it was not asked for"});
      out["level"] = name_of(reached.level);
      out["level_reason"] = reached.reason;
    }
    put("sample_s", sample_s_);
    put("kernel_s", kernel_s_);
    put("gap_s", gap_s_);
    put("card", cards_);
    out["passes"] = std::max(passes_, out.value("passes", std::int64_t{0}));
    for (const auto& [metric, values] : metrics_) {
      nlohmann::json& list = out["metrics"][metric];
      for (const double value : values) {
        if (list.size() < kMostValues) {
          list.push_back(value);
        }
      }
    }
    if (!out.contains("metrics")) {
      out["metrics"] = nlohmann::json::object();
    }
    put("ceilings", ceilings_json(ceilings_ ? ceilings_->measured : std::vector<gpu::DeviceCeiling>()));
    put("sustained", ceilings_json(ceilings_ ? ceilings_->sustained : std::vector<gpu::DeviceCeiling>()));
    if (ceilings_) {
      out["sustained_refusal"] = ceilings_->sustained_refusal;
    }
    std::ofstream stream(file_);
    stream << out.dump(1) << '\n';
    if (!stream) {
      throw Error(ErrorKind::kIo, "the file cannot be written");
    }
  }

  std::shared_ptr<gpu::Device> device_;
  std::filesystem::path file_;
  std::optional<gpu::LevelReport> level_;
  std::vector<double> sample_s_, kernel_s_, gap_s_;
  std::vector<nlohmann::json> cards_;
  std::int64_t passes_ = 0;
  std::map<std::string, std::vector<double>> metrics_;
  std::optional<gpu::DeviceCeilings> ceilings_;
};

} // namespace

std::shared_ptr<gpu::Device> record_device(std::shared_ptr<gpu::Device> device, const std::filesystem::path& file) {
  if (!std::ofstream(file, std::ios::app)) {
    throw Error(ErrorKind::kIo, fmt::format("ATTNPROF_GPU_RECORD names '{}', which cannot be written: give a path in a "
                                            "folder that is there",
                                            file.string()));
  }
  return std::make_shared<RecordingDevice>(std::move(device), file);
}

} // namespace attnprof::profilers
