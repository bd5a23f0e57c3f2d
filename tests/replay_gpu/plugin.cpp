// A GPU plugin for machines without a GPU: results come from the emulated kernels, times, clocks and counters from a
// recording, the file that ATTNPROF_GPU_RECORDING names. What the whole command line makes of a GPU is tested with it.
#include "attnprof_version.hpp"
#include "operators/core/error.hpp"
#include "tests/gpu_emulation/device.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#define ATTNPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace gpu = attnprof::operators::gpu;
using attnprof::operators::Error;
using attnprof::operators::ErrorKind;
using nlohmann::json;

gpu::Level level_from(const std::string& name) {
  for (const gpu::Level level :
       {gpu::Level::kNone, gpu::Level::kEvents, gpu::Level::kActivity, gpu::Level::kCounters}) {
    if (name_of(level) == name) {
      return level;
    }
  }
  throw Error(ErrorKind::kUsage, fmt::format("the recording has the unknown level '{}'", name));
}

/// Values of a list over and over.
class Cycle {
 public:
  /// A number, or a list.
  explicit Cycle(const json& values)
      : values_(values.is_array() ? values.get<std::vector<double>>() : std::vector<double>{values.get<double>()}) {}
  double next() {
    if (values_.empty()) {
      throw Error(ErrorKind::kUsage, "the recording lacks values for what is asked of it");
    }
    return values_[at_++ % values_.size()];
  }

 private:
  std::vector<double> values_;
  std::size_t at_ = 0;
};

class ReplayedDevice final : public attnprof::tests::emulation::EmulatedDevice {
 public:
  explicit ReplayedDevice(json recording)
      : recording_(std::move(recording)), sample_s_(recording_.at("sample_s")), kernel_s_(recording_.at("kernel_s")),
        gap_s_(recording_.at("gap_s")) {
    for (const auto& [metric, values] : recording_.at("metrics").items()) {
      metrics_.emplace(metric, Cycle(values));
    }
    const json& device = recording_.at("device");
    described.name = device.at("name");
    described.chip = device.at("chip");
    described.compute_major = device.at("compute_major");
    described.compute_minor = device.value("compute_minor", 0);
    described.multiprocessors = device.at("multiprocessors");
    described.l2_bytes = device.at("l2_bytes");
    described.driver_version = device.at("driver_version");
    if (recording_.contains("fails_at_start")) {
      fails_at = recording_.at("fails_at_start").get<std::int64_t>();
    }
  }

  double time_s(const std::function<void()>& body, bool queued) override {
    EmulatedDevice::time_s([] {}, queued); // a lost device is found here too
    if (!ran_) {                           // emulated kernels are slow, and their results do not change
      body();
      ran_ = true;
    }
    return sample_s_.next();
  }
  gpu::LevelReport level() override { return {level_from(recording_.at("level")), recording_.at("level_reason")}; }
  gpu::ActivityReport trace(std::size_t count, const std::function<void(std::size_t)>& /*run_launch*/) override {
    gpu::ActivityReport out;
    double now_s = 1.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double end_s = now_s + kernel_s_.next();
      out.kernels.push_back(
          {static_cast<std::int64_t>(i), "replayed", std::llround(now_s * 1e9), std::llround(end_s * 1e9)});
      now_s = end_s + gap_s_.next();
    }
    return out;
  }
  gpu::CounterReport count(const std::vector<std::string>& metrics, std::size_t count,
                           const std::function<void(std::size_t)>& /*run_launch*/) override {
    gpu::CounterReport out;
    out.passes = recording_.at("passes");
    for (std::size_t i = 0; i < count; ++i) {
      out.values.emplace_back();
      for (const std::string& metric : metrics) {
        out.values.back().push_back(metrics_.at(metric).next());
      }
    }
    return out;
  }
  std::vector<std::string> metric_names() override {
    std::vector<std::string> out;
    for (const auto& [metric, value] : recording_.at("metrics").items()) {
      out.push_back(metric.substr(0, metric.rfind(".sum")));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  gpu::CardState card_state() override {
    const json& cards = recording_.at("card");
    const json& card = cards.at(cards_read_++ % cards.size());
    const auto number = [&](const char* key) {
      return card.at(key).is_null() ? std::nullopt : std::optional(card.at(key).get<double>());
    };
    return {number("sm_clock_hz"), number("memory_clock_hz"), number("temperature_c"), number("power_w"),
            card.at("throttle_reasons").get<std::vector<std::string>>()};
  }
  gpu::DeviceCeilings measure_ceilings() override {
    const auto list = [&](const char* key) {
      std::vector<gpu::DeviceCeiling> out;
      for (const json& one : recording_.value(key, json::array())) {
        out.push_back({one.at("what"), one.at("per_s"), one.at("source")});
      }
      return out;
    };
    return {list("ceilings"), list("sustained"), recording_.value("sustained_refusal", std::string())};
  }

 private:
  json recording_;
  Cycle sample_s_, kernel_s_, gap_s_;
  std::map<std::string, Cycle> metrics_;
  std::size_t cards_read_ = 0;
  bool ran_ = false;
};

} // namespace

ATTNPROF_EXPORT gpu::PluginIdentity attnprof_gpu_identity() {
  static const std::string id =
      fmt::format("{} {} {} {}", attnprof::kVersion, attnprof::kCommit, attnprof::kGpuSeam, attnprof::kCompiler);
  return {gpu::kPluginAbi, id.c_str()};
}

ATTNPROF_EXPORT std::unique_ptr<gpu::Device> attnprof_gpu_open() {
  const char* file = std::getenv("ATTNPROF_GPU_RECORDING");
  std::ifstream stream(file == nullptr ? "" : file);
  if (!stream) {
    throw Error(ErrorKind::kUnavailable, "--device cuda is not possible: ATTNPROF_GPU_RECORDING names no recording; or "
                                         "use --device cpu");
  }
  return std::make_unique<ReplayedDevice>(json::parse(stream));
}
