// A processor and an operating system that do to a sample what the test tells them to.
#pragma once

#include "profilers/cache_control.hpp"
#include "profilers/host_probe.hpp"
#include "tests/support/fake_clock.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnprof::tests {

class FakeHost final : public profilers::HostProbe {
 public:
  explicit FakeHost(FakeClock& clock) : clock_(clock) {}

  profilers::HostReading read() override {
    if (log_ != nullptr)
      log_->push_back("host");
    return reading;
  }
  bool spin_cycles(std::int64_t cycles) override {
    if (!cpu_clock_hz)
      return false;
    clock_.advance_s(static_cast<double>(cycles) / *cpu_clock_hz);
    return true;
  }
  bool spin_independent(std::int64_t operations) override {
    if (!cpu_clock_hz || !issue_rate)
      return false;
    clock_.advance_s(static_cast<double>(operations) / (*cpu_clock_hz * *issue_rate));
    return true;
  }
  void log_to(std::vector<std::string>* log) { log_ = log; }

  /// Cumulative; bodies add to it while they run.
  profilers::HostReading reading{0.0, 0, 0};
  std::optional<double> cpu_clock_hz = 3e9;
  std::optional<double> issue_rate = 4.0; ///< operations a cycle

 private:
  FakeClock& clock_;
  std::vector<std::string>* log_ = nullptr;
};

class FakeEvictor final : public profilers::CacheEvictor {
 public:
  explicit FakeEvictor(FakeClock& clock, double evict_all_s = 0.001) : clock_(clock), evict_all_s_(evict_all_s) {}

  void evict_all() override {
    ++evictions;
    clock_.advance_s(evict_all_s_);
    if (log_ != nullptr)
      log_->push_back("evict");
  }
  void evict(std::span<const std::byte> range) override { evicted.push_back(range); }
  void log_to(std::vector<std::string>* log) { log_ = log; }

  int evictions = 0;
  std::vector<std::span<const std::byte>> evicted;

 private:
  FakeClock& clock_;
  double evict_all_s_;
  std::vector<std::string>* log_ = nullptr;
};

} // namespace attnprof::tests
