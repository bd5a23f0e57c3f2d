// Where the wall time of a command goes. Read at the borders of coarse steps, never inside a sample.
#pragma once

#include "profilers/cache_control.hpp"
#include "profilers/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attnprof::profilers {

enum class Phase {
  kCeilings,     ///< measuring the machine
  kLowering,     ///< from cases to launches, their counts and the cache model
  kBuffers,      ///< memory, inputs, packed weights
  kVerification, ///< the float64 reference and the run that it is compared with
  kWarmUp,       ///< the body, before the samples
  kSamples,      ///< the body, in samples
  kLaunches,     ///< the body launch by launch, for the times of single launches
  kCounting,     ///< the body under counters and energy meters
  kEvicting,     ///< the caches, before each run of a cold policy
  kBetween,      ///< probes and clock reads between samples, statistics, verdicts
  kRecords,      ///< records.jsonl, each line on the disk before the next case begins
  kReports,      ///< tables, page and figures
  kOther,
};
inline constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::kOther) + 1;
std::string_view name_of(Phase phase);

/// The body of a case runs, whose time is what the command is for.
constexpr bool is_measuring(Phase phase) {
  return phase == Phase::kWarmUp || phase == Phase::kSamples || phase == Phase::kLaunches || phase == Phase::kCounting;
}

class PhaseClock {
 public:
  /// Begins with kOther. `clock` must outlive it.
  explicit PhaseClock(Clock& clock) : clock_(clock), begin_ns_(clock.now_ns()) {}

  /// Time counts for `phase` as long as this lives, and then again for what it interrupted.
  class [[nodiscard]] Scope {
   public:
    /// Null: nothing is timed.
    Scope(PhaseClock* phases, Phase phase)
        : phases_(phases), before_(phases == nullptr ? Phase::kOther : phases->enter(phase)) {}
    ~Scope() {
      if (phases_ != nullptr) {
        phases_->enter(before_);
      }
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseClock* phases_;
    Phase before_;
  };

  /// Seconds of the current phase that were found to be another's: the body inside a measurement.
  void claim(Phase phase, double time_s);

  /// So far, the current phase included.
  [[nodiscard]] double time_s(Phase phase);
  [[nodiscard]] double total_s();
  /// Of the total, while a body ran; 0 where no time went by.
  [[nodiscard]] double measuring_share();

 private:
  friend class Scope;
  Phase enter(Phase phase);

  Clock& clock_;
  std::array<double, kPhases> times_s_{};
  Phase phase_ = Phase::kOther;
  std::int64_t begin_ns_;
};

/// Evicts by another evictor, which is borrowed as the clock is, and counts the time for kEvicting.
class PhasedEvictor final : public CacheEvictor {
 public:
  PhasedEvictor(CacheEvictor& evictor, PhaseClock& phases) : evictor_(evictor), phases_(phases) {}
  void evict_all() override {
    const PhaseClock::Scope scope(&phases_, Phase::kEvicting);
    evictor_.evict_all();
  }
  void evict(std::span<const std::byte> range) override {
    const PhaseClock::Scope scope(&phases_, Phase::kEvicting);
    evictor_.evict(range);
  }

 private:
  CacheEvictor& evictor_;
  PhaseClock& phases_;
};

} // namespace attnprof::profilers
