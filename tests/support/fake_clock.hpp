// A clock that moves only when told to, and a log of who touched it.
#pragma once

#include "profilers/clock.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace attnprof::tests {

class FakeClock final : public profilers::Clock {
 public:
  /// Every read costs `read_cost_ns` of its time; readings are rounded down to `tick_ns`.
  explicit FakeClock(std::int64_t read_cost_ns = 20, std::int64_t tick_ns = 1)
      : read_cost_ns_(read_cost_ns), tick_ns_(tick_ns) {}

  std::int64_t now_ns() override {
    now_ns_ += static_cast<double>(read_cost_ns_);
    if (log_ != nullptr)
      log_->push_back("clock");
    const auto whole = static_cast<std::int64_t>(std::llround(now_ns_));
    return whole / tick_ns_ * tick_ns_;
  }
  std::string name() const override { return "fake_clock"; }

  void advance_s(double seconds) { now_ns_ += seconds * 1e9; }
  double elapsed_s() const { return now_ns_ * 1e-9; }
  void log_to(std::vector<std::string>* log) { log_ = log; }

 private:
  double now_ns_ = 0;
  std::int64_t read_cost_ns_;
  std::int64_t tick_ns_;
  std::vector<std::string>* log_ = nullptr;
};

} // namespace attnprof::tests
