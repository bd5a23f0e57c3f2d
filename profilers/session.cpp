#include "profilers/session.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace attnprof::profilers {
namespace {

// A warm sample is as long as 1000 timer steps; a cold one cannot be batched, and 100 steps still give 1 %.
constexpr double kWarmSteps = 1000;
constexpr double kColdSteps = 100;
// Longer samples than the timer needs keep their number, and the cost of the probes between them, in bounds.
constexpr double kSamplesInMinTime = 500;
constexpr std::int64_t kMaxIterations = std::int64_t{1} << 20U;
constexpr double kDefaultNoise = 0.02;
constexpr double kWarmUpShareOfTimeout = 0.2;

struct Sample {
  double timed_s = 0; ///< of all iterations
  SampleConditions conditions;
};

template <typename T>
std::optional<T> difference(const std::optional<T>& before, const std::optional<T>& after) {
  if (!before || !after)
    return std::nullopt;
  return *after - *before;
}

std::optional<double> resolution_of(Clock& clock) {
  const auto known_s = clock.known_resolution_s();
  return known_s ? known_s : probe_timer(clock).resolution_s;
}

class Session {
 public:
  Session(const std::function<void()>& body, const MeasureOptions& options, Clock& clock, HostProbe& host,
          const CacheControl& cache, const std::atomic<bool>& interrupted)
      : body_(body), options_(options), clock_(clock), host_(host), cache_(cache), interrupted_(interrupted) {}

  Measurement run() {
    begin_ns_ = clock_.now_ns();
    prepare();
    std::optional<Sample> first;
    if (options_.warmup)
      first = warm_up_as_requested();
    else
      warm_up_until_steady();
    sample(first);
    summarise();
    return std::move(result_);
  }

 private:
  /// Since the session began: the timeout bounds warm-up and samples together.
  double elapsed_s() { return seconds_between(begin_ns_, clock_.now_ns()); }

  void prepare() {
    result_.timer = clock_.name();
    result_.timer_resolution_s = resolution_of(clock_);
    result_.cache_policy = cache_.policy;
    least_sample_s_ = least_sample_s(result_);
    if (cache_.is_cold() || !least_sample_s_)
      return;
    target_s_ = *least_sample_s_;
    if (!options_.repetitions)
      target_s_ = std::max(target_s_, options_.min_time_s / kSamplesInMinTime);
    // A coarse clock must not turn a few samples into minutes.
    target_s_ =
        std::min(target_s_, options_.timeout_s / static_cast<double>(std::max<std::int64_t>(options_.min_samples, 1)));
  }

  Sample take_sample() {
    Sample sample;
    const CoreReading core_before = measure_core(clock_, host_);
    cache_.prepare();
    const std::int64_t iterations = result_.iterations_per_sample;
    const HostReading before = host_.read();
    sample.timed_s = clock_.time_s(
        [&] {
          for (std::int64_t i = 0; i < iterations; ++i)
            body_();
        },
        iterations);
    const HostReading after = host_.read();
    sample.conditions.cpu_clock_hz = core_before.clock_hz;
    // What a device does is not held up by a host's core that is shared.
    if (!clock_.is_asynchronous())
      sample.conditions.issue_rate = std::min(core_before.issue_rate, measure_core(clock_, host_).issue_rate);
    sample.conditions.steal_s = difference(before.steal_s, after.steal_s);
    sample.conditions.page_faults = difference(before.page_faults, after.page_faults);
    sample.conditions.context_switches = difference(before.context_switches, after.context_switches);
    return sample;
  }

  Sample take_warm_up_sample() {
    const Sample sample = take_sample();
    result_.warmup_runs += result_.iterations_per_sample;
    result_.warmup_s += sample.timed_s;
    return sample;
  }

  bool fits(const Sample& sample) const {
    return sample.timed_s >= target_s_ || result_.iterations_per_sample >= kMaxIterations;
  }

  void enlarge(const Sample& too_short) {
    result_.iterations_per_sample =
        std::min(kMaxIterations, grow_iterations(result_.iterations_per_sample, too_short.timed_s, target_s_));
  }

  // Runs the body as often as the user asks, then until it is known how often it fits a sample. Returns a sample to
  // keep when the user wants no warm-up and the one run that would size the samples is long enough itself.
  std::optional<Sample> warm_up_as_requested() {
    Sample last;
    if (*options_.warmup == 0) {
      last = take_sample();
      if (fits(last))
        return last;
      result_.warmup_runs = 1;
      result_.warmup_s = last.timed_s;
    }
    while (!interrupted_ && result_.warmup_runs < *options_.warmup) {
      last = take_warm_up_sample();
      if (elapsed_s() >= options_.timeout_s && result_.warmup_runs < *options_.warmup) {
        result_.warnings.push_back(fmt::format("the timeout ended the warm-up after {} of {} runs ({:.3g} s for "
                                               "warm-up and samples); raise --timeout",
                                               result_.warmup_runs, *options_.warmup, options_.timeout_s));
        return std::nullopt;
      }
    }
    while (!interrupted_ && !fits(last)) {
      enlarge(last);
      last = take_warm_up_sample();
    }
    return std::nullopt;
  }

  void warm_up_until_steady() {
    WarmUpCriteria criteria;
    criteria.max_time_s = kWarmUpShareOfTimeout * options_.timeout_s;
    WarmUpRule rule(criteria);
    while (!interrupted_) {
      const Sample sample = take_warm_up_sample();
      if (!fits(sample)) {
        enlarge(sample);
        continue;
      }
      const double one_s = sample.timed_s / static_cast<double>(result_.iterations_per_sample);
      const double spent_s = elapsed_s();
      const auto end = rule.after(one_s, sample.timed_s, spent_s);
      if (!end)
        continue;
      if (*end != WarmUpEnd::kSteady)
        result_.warnings.push_back(fmt::format("warm-up ended after {:.3g} s and {} runs before two windows agreed "
                                               "within {:g} %; raise --warmup or --timeout",
                                               spent_s, result_.warmup_runs, 100 * criteria.tolerance));
      return;
    }
  }

  void sample(const std::optional<Sample>& first) {
    StopCriteria criteria;
    criteria.repetitions = options_.repetitions;
    criteria.min_time_s = options_.min_time_s;
    criteria.max_noise = options_.max_noise;
    criteria.timeout_s = options_.timeout_s;
    criteria.min_samples = options_.min_samples;
    StoppingRule rule(criteria);
    double timed_s = 0;
    std::optional<StopReason> stop;
    for (bool is_first = true; !stop; is_first = false) {
      if (interrupted_) {
        stop = StopReason::kInterrupted;
        break;
      }
      const Sample next = is_first && first ? *first : take_sample();
      timed_s += next.timed_s;
      result_.samples_s.push_back(next.timed_s / static_cast<double>(result_.iterations_per_sample));
      result_.conditions.push_back(next.conditions);
      stop = rule.after(result_.samples_s, timed_s, elapsed_s());
    }
    result_.stop_reason = *stop;
  }

  void summarise() {
    const std::vector<double>& samples = result_.samples_s;
    result_.time_median_s = median(samples);
    if (!samples.empty())
      result_.time_min_s = *std::min_element(samples.begin(), samples.end());
    const auto interval = bootstrap_median_interval(samples);
    if (interval) {
      result_.time_ci_low_s = interval->low;
      result_.time_ci_high_s = interval->high;
    }
    result_.time_mad_s = median_absolute_deviation(samples);
    add_conditions();
    VerdictOptions limits;
    limits.max_noise = options_.max_noise.value_or(kDefaultNoise);
    limits.least_sample_s = least_sample_s_;
    limits.interval = interval;
    const Verdict verdict = judge(samples, result_.conditions, result_.iterations_per_sample, limits);
    result_.stability = verdict.stability;
    result_.stability_reason = verdict.reason;
    add_warnings();
  }

  void add_conditions() {
    const auto add = [](auto& total, const auto& value) {
      if (value)
        total = total.value_or(0) + *value;
    };
    for (const SampleConditions& condition : result_.conditions) {
      add(result_.steal_s, condition.steal_s);
      add(result_.page_faults, condition.page_faults);
      add(result_.context_switches, condition.context_switches);
    }
    summarise_core(result_);
  }

  void add_warnings() {
    const auto count = result_.samples_s.size();
    if (const auto shared = shared_core_warning(result_.conditions); shared && !options_.is_visit)
      result_.warnings.push_back(*shared);
    if (options_.repetitions && result_.stop_reason == StopReason::kTimeout)
      result_.warnings.push_back(fmt::format("the timeout of {:g} s ended the run after {} of {} repetitions; raise "
                                             "--timeout",
                                             options_.timeout_s, count, *options_.repetitions));
    const auto far = outliers(result_.samples_s);
    if (far && !far->empty())
      result_.warnings.push_back(fmt::format("{} of {} samples are outliers (modified z above {:g}); all are kept",
                                             far->size(), count, kOutlierThreshold));
    const bool needs_ranges = (cache_.policy == CachePolicy::kColdWeights && cache_.weights.empty()) ||
                              (cache_.policy == CachePolicy::kColdKv && cache_.kv_cache.empty());
    if (needs_ranges)
      result_.warnings.push_back(
          fmt::format("cache policy {} evicted nothing: this workload has no such tensor", name_of(cache_.policy)));
  }

  const std::function<void()>& body_;
  const MeasureOptions& options_;
  Clock& clock_;
  HostProbe& host_;
  const CacheControl& cache_;
  const std::atomic<bool>& interrupted_;
  Measurement result_;
  std::int64_t begin_ns_ = 0;
  std::optional<double> least_sample_s_;
  double target_s_ = 0; ///< 0: a single iteration is always long enough
};

void require(bool holds, const std::string& sentence) {
  if (!holds)
    throw operators::Error(operators::ErrorKind::kUsage, sentence);
}

} // namespace

void validate(const MeasureOptions& options) {
  require(!options.warmup || *options.warmup >= 0,
          fmt::format("--warmup is {}; it must be 0 or more", options.warmup.value_or(0)));
  require(!options.repetitions || *options.repetitions >= 1,
          fmt::format("--repetitions is {}; it must be 1 or more", options.repetitions.value_or(0)));
  require(options.min_time_s >= 0, fmt::format("--min-time is {} s; it must be 0 or more", options.min_time_s));
  require(!options.max_noise || *options.max_noise > 0,
          fmt::format("--max-noise is {}; it must be positive", options.max_noise.value_or(0)));
  require(options.timeout_s > 0, fmt::format("--timeout is {} s; it must be positive", options.timeout_s));
  require(options.min_samples >= 1,
          fmt::format("the least number of samples is {}; it must be 1 or more", options.min_samples));
}

std::optional<double> least_sample_s(const Measurement& measured) {
  const bool cold = measured.cache_policy != CachePolicy::kWarm;
  if (!measured.timer_resolution_s)
    return std::nullopt;
  return *measured.timer_resolution_s * (cold ? kColdSteps : kWarmSteps);
}

void summarise_core(Measurement& measured) {
  std::vector<double> clocks;
  std::vector<double> rates;
  for (const SampleConditions& condition : measured.conditions) {
    if (condition.cpu_clock_hz)
      clocks.push_back(*condition.cpu_clock_hz);
    if (condition.issue_rate)
      rates.push_back(*condition.issue_rate);
  }
  measured.cpu_clock_hz = median(clocks);
  measured.issue_rate = median(rates);
}

Measurement measure(const std::function<void()>& body, const MeasureOptions& options, Clock& clock, HostProbe& host,
                    const CacheControl& cache, const std::atomic<bool>& interrupted) {
  validate(options);
  return Session(body, options, clock, host, cache, interrupted).run();
}

FirstRun run_once(std::size_t count, const std::function<void(std::size_t)>& run_launch, double most_s, Clock& clock,
                  const std::atomic<bool>& interrupted) {
  FirstRun out;
  const std::int64_t begin = clock.now_ns();
  while (out.launches < count && !interrupted && out.time_s <= most_s) {
    run_launch(out.launches);
    ++out.launches;
    out.time_s = seconds_between(begin, clock.now_ns());
  }
  out.is_whole = out.launches == count;
  return out;
}

std::vector<LaunchTiming> measure_launches(std::size_t count, const std::function<void(std::size_t)>& run_launch,
                                           const LaunchOptions& options, Clock& clock, const CacheControl& cache,
                                           const std::atomic<bool>& interrupted) {
  constexpr double kReadableSteps = 20;
  const auto resolution_s = resolution_of(clock);
  std::vector<LaunchTiming> timings(count);
  const std::int64_t warm_up_begin = clock.now_ns();
  for (std::size_t i = 0; i < count && !interrupted; ++i) {
    const std::int64_t begin = clock.now_ns();
    run_launch(i);
    timings[i].warmup_s = seconds_between(begin, clock.now_ns());
  }
  std::vector<std::vector<double>> samples(count);
  std::vector<std::int64_t> stamps(count + 1);
  const std::int64_t begin = clock.now_ns();
  for (std::int64_t round = 0; round < options.max_rounds && count > 0 && !interrupted; ++round) {
    const double elapsed_s = seconds_between(begin, clock.now_ns());
    const double spent_s = seconds_between(warm_up_begin, begin) + elapsed_s;
    const bool is_late = round > 0 && spent_s >= options.timeout_s;
    if (is_late || (round >= options.min_rounds && elapsed_s >= options.min_time_s))
      break;
    cache.prepare();
    if (clock.is_asynchronous()) {
      for (std::size_t i = 0; i < count && !interrupted; ++i)
        samples[i].push_back(clock.time_s([&] { run_launch(i); }, 1));
      continue;
    }
    stamps[0] = clock.now_ns();
    std::size_t done = 0;
    for (; done < count && !interrupted; ++done) {
      run_launch(done);
      stamps[done + 1] = clock.now_ns();
    }
    for (std::size_t i = 0; i < done; ++i)
      samples[i].push_back(seconds_between(stamps[i], stamps[i + 1]));
  }
  for (std::size_t i = 0; i < count; ++i) {
    timings[i].samples = static_cast<std::int64_t>(samples[i].size());
    timings[i].timed_s = std::accumulate(samples[i].begin(), samples[i].end(), 0.0);
    timings[i].time_median_s = median(samples[i]);
    timings[i].time_min_s = quantile(samples[i], 0);
    timings[i].below_resolution =
        timings[i].time_median_s && (!resolution_s || *timings[i].time_median_s < kReadableSteps * *resolution_s);
  }
  return timings;
}

} // namespace attnprof::profilers
