#include "operators/core/error.hpp"
#include "profilers/session.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>

using namespace attnprof::profilers;
using attnprof::tests::FakeClock;
using attnprof::tests::FakeEvictor;
using attnprof::tests::FakeHost;
using attnprof::tests::mentions;

namespace {

struct SessionBench {
  FakeClock clock{20};
  FakeHost host{clock};
  FakeEvictor evictor{clock};
  CacheControl cache;
  MeasureOptions options;
  std::atomic<bool> interrupted = false;
  std::int64_t runs = 0;

  Measurement measure_runs_of(const std::function<double()>& run_s) {
    const auto body = [&] {
      ++runs;
      clock.advance_s(run_s());
    };
    return measure(body, options, clock, host, cache, interrupted);
  }
};

bool any_mentions(const std::vector<std::string>& lines, const std::string& word) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return mentions(line, word); });
}

} // namespace

TEST_CASE("a constant body is stable and stops on its noise") {
  SessionBench bench;
  const Measurement found = bench.measure_runs_of([] { return 2e-3; });
  CHECK(*found.time_median_s == Catch::Approx(2e-3).epsilon(1e-4));
  CHECK(*found.time_min_s == Catch::Approx(2e-3).epsilon(1e-4));
  CHECK(*found.time_ci_low_s <= *found.time_median_s);
  CHECK(*found.time_ci_high_s >= *found.time_median_s);
  CHECK(*found.time_mad_s < 1e-9);
  CHECK(found.stop_reason == StopReason::kNoiseReached);
  CHECK(*found.stability == Stability::kStable);
  CHECK(found.samples_s.size() == 100);
  CHECK(found.iterations_per_sample == 1);
  CHECK(found.timer == "fake_clock");
  CHECK(*found.timer_resolution_s == Catch::Approx(20e-9));
  CHECK(*found.cpu_clock_hz == Catch::Approx(3e9).epsilon(0.01));
  CHECK(*found.issue_rate == Catch::Approx(4.0).epsilon(0.02));
  CHECK(*found.page_faults == 0);
  CHECK(*found.steal_s == 0);
  CHECK(found.warnings.empty());
  CHECK(bench.runs == found.warmup_runs + static_cast<std::int64_t>(found.samples_s.size()));
}

TEST_CASE("a short body is batched to 1000 timer steps and never negative (BUG-139, BUG-156)") {
  SessionBench bench;
  bench.options.repetitions = 20;
  const Measurement found = bench.measure_runs_of([] { return 5e-9; });
  CHECK(static_cast<double>(found.iterations_per_sample) * 5e-9 >= 1000 * 20e-9 * 0.99);
  CHECK(*found.time_median_s == Catch::Approx(5e-9).epsilon(0.01));
  CHECK(*found.stability == Stability::kStable);
  CHECK(*found.time_min_s > 0);
}

TEST_CASE("the number of samples stays in bounds for a body of microseconds") {
  SessionBench bench;
  const Measurement found = bench.measure_runs_of([] { return 3.2e-6; });
  CHECK(*found.time_median_s == Catch::Approx(3.2e-6).epsilon(0.001));
  CHECK(found.samples_s.size() <= 600);
}

TEST_CASE("a body that the timer cannot resolve is too short") {
  SECTION("because it takes no time") {
    SessionBench bench;
    bench.options.warmup = 0;
    bench.options.repetitions = 3;
    const Measurement found = bench.measure_runs_of([] { return 0.0; });
    CHECK(*found.stability == Stability::kTooShort);
    CHECK(found.iterations_per_sample <= (1 << 20));
  }
  SECTION("because it is cold and cannot be batched") {
    SessionBench bench;
    bench.cache = {CachePolicy::kCold, {}, {}, &bench.evictor};
    bench.options.repetitions = 10;
    const Measurement found = bench.measure_runs_of([] { return 1e-6; });
    CHECK(found.iterations_per_sample == 1);
    CHECK(*found.stability == Stability::kTooShort);
    CHECK(mentions(found.stability_reason, "timer"));
  }
  SECTION("because the clock is coarse") {
    SessionBench bench;
    bench.clock = FakeClock(1000, 10'000'000);
    bench.options.timeout_s = 1;
    const Measurement found = bench.measure_runs_of([] { return 1e-3; });
    CHECK(*found.stability == Stability::kTooShort);
    CHECK(bench.clock.elapsed_s() < 10);
  }
  SECTION("because the clock stands still") {
    SessionBench bench;
    bench.clock = FakeClock(0);
    bench.host.cpu_clock_hz.reset();
    bench.options.repetitions = 3;
    const Measurement found = bench.measure_runs_of([] { return 0.0; });
    CHECK(*found.stability == Stability::kTooShort);
    CHECK_FALSE(found.timer_resolution_s);
    CHECK_FALSE(found.cpu_clock_hz);
  }
}

TEST_CASE("noise runs into the timeout and names its cause") {
  SessionBench bench;
  bench.options.timeout_s = 1;
  std::mt19937 random(1);
  int period = 0;
  // Slow stretches longer than a window: the median belongs to neither level.
  const auto slow_now = [&] { return ++period / 40 % 2 == 1 && random() % 8 != 0; };

  SECTION("steal") {
    const Measurement found = bench.measure_runs_of([&] {
      const bool slow = slow_now();
      *bench.host.reading.steal_s += slow ? 0.9e-3 : 0;
      return slow ? 2e-3 : 1e-3;
    });
    CHECK(found.stop_reason == StopReason::kTimeout);
    REQUIRE(found.stability);
    CHECK((*found.stability == Stability::kNoisy || *found.stability == Stability::kDrift));
    CHECK(mentions(found.stability_reason, "steal"));
    CHECK(*found.steal_s > 0.1);
  }
  SECTION("page faults") {
    const Measurement found = bench.measure_runs_of([&] {
      const bool slow = slow_now();
      *bench.host.reading.page_faults += slow ? 60 : 0;
      return slow ? 2e-3 : 1e-3;
    });
    CHECK(mentions(found.stability_reason, "page faults"));
  }
  SECTION("context switches") {
    const Measurement found = bench.measure_runs_of([&] {
      const bool slow = slow_now();
      *bench.host.reading.context_switches += slow ? 2 : 0;
      return slow ? 2e-3 : 1e-3;
    });
    CHECK(mentions(found.stability_reason, "context switches"));
  }
  SECTION("a shared core") {
    // The neighbour comes and goes, and is gone or there before the sample as well as after it.
    const Measurement found = bench.measure_runs_of([&] {
      const bool slow = slow_now();
      bench.host.issue_rate = slow ? 2.1 : 4.0;
      return slow ? 2e-3 : 1e-3;
    });
    CHECK(mentions(found.stability_reason, "shared core"));
    CHECK(any_mentions(found.warnings, "samples shared the core"));
    CHECK(any_mentions(found.warnings, "2.1 of 4.0"));
  }
  SECTION("nothing that the host shows") {
    const Measurement found = bench.measure_runs_of([&] { return slow_now() ? 2e-3 : 1e-3; });
    CHECK(mentions(found.stability_reason, "no steal"));
  }
  SECTION("a host that shows nothing") {
    bench.host.reading = {};
    bench.host.cpu_clock_hz.reset();
    const Measurement found = bench.measure_runs_of([&] { return slow_now() ? 2e-3 : 1e-3; });
    CHECK(mentions(found.stability_reason, "tells nothing"));
    CHECK_FALSE(found.steal_s);
    CHECK_FALSE(found.issue_rate);
    CHECK_FALSE(found.page_faults);
    CHECK_FALSE(found.context_switches);
  }
}

TEST_CASE("drift and throttling are told apart by the clock (BUG-152)") {
  SessionBench bench;
  bench.options.warmup = 0;
  bench.options.repetitions = 80;
  const std::array rates{1425.0, 1450.0, 1373.0, 1237.0};
  const auto rate_now = [&] { return rates[std::min<std::size_t>(3, static_cast<std::size_t>(bench.runs - 1) / 20)]; };

  SECTION("the clock fell with the speed") {
    const Measurement found = bench.measure_runs_of([&] {
      bench.host.cpu_clock_hz = 2e6 * rate_now();
      return 1 / rate_now();
    });
    CHECK(*found.stability == Stability::kThrottled);
    CHECK(mentions(found.stability_reason, "14.7 %"));
    CHECK(mentions(found.stability_reason, "clock"));
  }
  SECTION("the clock held") {
    const Measurement found = bench.measure_runs_of([&] { return 1 / rate_now(); });
    CHECK(*found.stability == Stability::kDrift);
    CHECK(mentions(found.stability_reason, "14.7 %"));
  }
  SECTION("the body got faster: the warm-up was too short") {
    const Measurement found = bench.measure_runs_of([&] { return bench.runs < 20 ? 2e-3 : 1e-3; });
    CHECK(*found.stability == Stability::kDrift);
    CHECK(mentions(found.stability_reason, "warm-up"));
  }
}

TEST_CASE("the warm-up hides the first slow runs (BUG-142, BUG-150)") {
  SessionBench bench;
  const std::array<double, 6> start_ms{11.2, 11.0, 10.1, 9.3, 8.9, 8.8};
  const Measurement found = bench.measure_runs_of(
      [&] { return 1e-3 * start_ms[std::min<std::size_t>(5, static_cast<std::size_t>(bench.runs - 1))]; });
  CHECK(*found.time_median_s == Catch::Approx(8.8e-3).epsilon(1e-3));
  CHECK(*found.stability == Stability::kStable);
  CHECK(found.warmup_runs >= 9);
}

TEST_CASE("a slow first sample is kept and flagged (BUG-150)") {
  SessionBench bench;
  bench.options.warmup = 0;
  bench.options.repetitions = 10;
  bench.options.timeout_s = 100;
  const Measurement found = bench.measure_runs_of([&] { return bench.runs == 1 ? 27.0 : 1e-3; });
  CHECK(bench.runs == 10);
  CHECK(found.samples_s.size() == 10);
  CHECK(found.samples_s.front() == Catch::Approx(27.0));
  CHECK(*found.time_median_s == Catch::Approx(1e-3).epsilon(1e-3));
  CHECK(any_mentions(found.warnings, "1 of 10 samples are outliers"));
}

TEST_CASE("few repetitions give values without a spread (BUG-176, BUG-207)") {
  for (const int count : {1, 2, 3, 4}) {
    SessionBench bench;
    bench.options.repetitions = count;
    const Measurement found = bench.measure_runs_of([] { return 1e-3; });
    CHECK(found.samples_s.size() == static_cast<std::size_t>(count));
    CHECK(*found.time_median_s == Catch::Approx(1e-3).epsilon(1e-3));
    CHECK_FALSE(found.time_ci_low_s);
    CHECK_FALSE(found.time_ci_high_s);
    CHECK(found.time_mad_s.has_value() == (count >= 2));
    CHECK(found.stability == Stability::kTooShort);
    CHECK(mentions(found.stability_reason, "too few"));
    CHECK(found.stop_reason == StopReason::kRepetitions);
  }
}

TEST_CASE("requested warm-up runs are counted") {
  SessionBench bench;
  bench.options.repetitions = 5;
  bench.options.warmup = 7;
  const Measurement found = bench.measure_runs_of([] { return 1e-3; });
  CHECK(found.warmup_runs == 7);
  CHECK(bench.runs == 12);
}

TEST_CASE("the timeout ends long bodies and exact repetitions, and says so") {
  SessionBench bench;
  bench.options.repetitions = 100;
  bench.options.warmup = 0;
  const Measurement found = bench.measure_runs_of([] { return 1.0; });
  CHECK(found.stop_reason == StopReason::kTimeout);
  CHECK(found.samples_s.size() == 5);
  CHECK(any_mentions(found.warnings, "5 of 100 repetitions"));

  SessionBench slow;
  const Measurement one = slow.measure_runs_of([] { return 60.0; });
  CHECK(one.samples_s.size() == 1);
  CHECK(one.warmup_runs == 1);
  CHECK(one.stop_reason == StopReason::kTimeout);
  CHECK(any_mentions(one.warnings, "warm-up ended"));
}

TEST_CASE("the timeout ends a requested warm-up too, and one sample is still taken") {
  SessionBench bench;
  bench.options.warmup = 100;
  const Measurement found = bench.measure_runs_of([] { return 1.0; });
  CHECK(found.warmup_runs == 5);
  CHECK(found.samples_s.size() == 1);
  CHECK(any_mentions(found.warnings, "ended the warm-up after 5 of 100 runs"));
}

TEST_CASE("the timeout bounds warm-up and samples together") {
  SessionBench bench;
  bench.options.max_noise = 1e-9;
  std::mt19937 random(1);
  const Measurement found = bench.measure_runs_of([&] { return 0.1 + 1e-3 * static_cast<double>(random() % 50); });
  CHECK(found.stop_reason == StopReason::kTimeout);
  CHECK(bench.clock.elapsed_s() < 5.3); // and the sample that was being taken
}

TEST_CASE("a first run is left between two launches once it takes too long or is interrupted") {
  SessionBench bench;
  const auto slow = [&](std::size_t) { bench.clock.advance_s(1.0); };
  const FirstRun whole = run_once(3, slow, 10, bench.clock, bench.interrupted);
  CHECK(whole.is_whole);
  CHECK(whole.time_s == Catch::Approx(3).epsilon(1e-3));
  const FirstRun left = run_once(1000, slow, 2.5, bench.clock, bench.interrupted);
  CHECK_FALSE(left.is_whole);
  CHECK(left.launches == 3);
  const auto interrupts = [&](std::size_t i) { bench.interrupted = i == 1; };
  CHECK(run_once(1000, interrupts, 10, bench.clock, bench.interrupted).launches == 2);
  bench.interrupted = false;
  const auto pass = measure_launches(3, interrupts, {}, bench.clock, bench.cache, bench.interrupted);
  CHECK(pass[2].samples == 0); // polled between launches
}

TEST_CASE("an interrupt ends the run with what was measured") {
  SessionBench bench;
  bench.options.warmup = 0;
  const Measurement found = bench.measure_runs_of([&] {
    bench.interrupted = bench.runs >= 30;
    return 1e-3;
  });
  CHECK(found.stop_reason == StopReason::kInterrupted);
  CHECK(found.samples_s.size() == 30);
  CHECK(*found.time_median_s == Catch::Approx(1e-3).epsilon(1e-3));

  SessionBench early;
  early.interrupted = true;
  const Measurement nothing = early.measure_runs_of([] { return 1e-3; });
  CHECK(nothing.stop_reason == StopReason::kInterrupted);
  CHECK_FALSE(nothing.time_median_s);
  CHECK_FALSE(nothing.time_min_s);
  CHECK_FALSE(nothing.stability);
}

TEST_CASE("only the body runs between the clock reads of a sample") {
  SessionBench bench;
  std::vector<std::string> log;
  bench.cache = {CachePolicy::kCold, {}, {}, &bench.evictor};
  bench.options.warmup = 0;
  bench.options.repetitions = 6;
  bench.clock.log_to(&log);
  bench.host.log_to(&log);
  bench.evictor.log_to(&log);
  measure(
      [&] {
        log.push_back("body");
        bench.clock.advance_s(1e-3);
      },
      bench.options, bench.clock, bench.host, bench.cache, bench.interrupted);
  int bodies = 0;
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (log[i] != "body")
      continue;
    ++bodies;
    CHECK(log[i - 1] == "clock");
    CHECK(log[i + 1] == "clock");
    CHECK(log[i - 2] == "host");
    CHECK(log[i + 2] == "host");
    CHECK(log[i - 3] == "evict");
  }
  CHECK(bodies == 6);
}

TEST_CASE("cache policies (BUG-143)") {
  SessionBench bench;
  std::array<std::byte, 256> weights{};
  std::array<std::byte, 128> keys{};
  std::array<std::byte, 128> values{};
  bench.options.repetitions = 8;
  bench.options.warmup = 2;
  bench.cache = {CachePolicy::kWarm, {weights}, {keys, values}, &bench.evictor};

  SECTION("warm evicts nothing") {
    bench.measure_runs_of([] { return 1e-3; });
    CHECK(bench.evictor.evictions == 0);
    CHECK(bench.evictor.evicted.empty());
  }
  SECTION("cold evicts everything before each run, outside the timed region") {
    bench.cache.policy = CachePolicy::kCold;
    const Measurement found = bench.measure_runs_of([] { return 1e-6; });
    CHECK(bench.evictor.evictions == 10);
    CHECK(found.iterations_per_sample == 1);
    CHECK(*found.time_median_s == Catch::Approx(1e-6).epsilon(0.05));
    CHECK(found.cache_policy == CachePolicy::kCold);
  }
  SECTION("cold-weights evicts the weights only") {
    bench.cache.policy = CachePolicy::kColdWeights;
    bench.measure_runs_of([] { return 1e-3; });
    CHECK(bench.evictor.evictions == 0);
    REQUIRE(bench.evictor.evicted.size() == 10);
    CHECK(bench.evictor.evicted.front().data() == weights.data());
  }
  SECTION("cold-kv evicts keys and values") {
    bench.cache.policy = CachePolicy::kColdKv;
    bench.measure_runs_of([] { return 1e-3; });
    REQUIRE(bench.evictor.evicted.size() == 20);
    CHECK(bench.evictor.evicted[1].data() == values.data());
  }
  SECTION("a policy without its ranges warns") {
    bench.cache = {CachePolicy::kColdKv, {weights}, {}, &bench.evictor};
    const Measurement found = bench.measure_runs_of([] { return 1e-3; });
    CHECK(any_mentions(found.warnings, "cold-kv"));
  }
  SECTION("a cold policy without an evictor is a bug of the caller") {
    bench.cache = {CachePolicy::kCold, {}, {}, nullptr};
    CHECK_THROWS_AS(bench.measure_runs_of([] { return 1e-3; }), attnprof::operators::Error);
  }
}

TEST_CASE("cache policy names") {
  for (const auto policy : {CachePolicy::kWarm, CachePolicy::kCold, CachePolicy::kColdWeights, CachePolicy::kColdKv})
    CHECK(*cache_policy_from(name_of(policy)) == policy);
  CHECK(*cache_policy_from("cold-kv") == CachePolicy::kColdKv);
  CHECK_FALSE(cache_policy_from("frozen"));
}

TEST_CASE("options out of range are refused with their value") {
  const auto refuses = [](const std::function<void(MeasureOptions&)>& spoil, const std::string& flag) {
    MeasureOptions options;
    spoil(options);
    try {
      validate(options);
      return false;
    } catch (const attnprof::operators::Error& error) {
      return error.kind() == attnprof::operators::ErrorKind::kUsage && mentions(error.what(), flag);
    }
  };
  CHECK(refuses([](auto& o) { o.repetitions = 0; }, "--repetitions is 0"));
  CHECK(refuses([](auto& o) { o.warmup = -1; }, "--warmup is -1"));
  CHECK(refuses([](auto& o) { o.min_time_s = -0.5; }, "--min-time is -0.5"));
  CHECK(refuses([](auto& o) { o.max_noise = 0.0; }, "--max-noise is 0"));
  CHECK(refuses([](auto& o) { o.timeout_s = 0; }, "--timeout is 0"));
  CHECK_NOTHROW(validate({}));
}

TEST_CASE("a body that throws is not swallowed") {
  SessionBench bench;
  CHECK_THROWS_AS(bench.measure_runs_of([]() -> double { throw std::runtime_error("kernel"); }), std::runtime_error);
}

TEST_CASE("launches are timed round-robin in program order") {
  SessionBench bench;
  std::vector<std::size_t> order;
  const std::array<double, 3> times_s{1e-3, 5e-8, 3e-3};
  const auto timings = measure_launches(
      3,
      [&](std::size_t i) {
        order.push_back(i);
        bench.clock.advance_s(times_s[i]);
      },
      {}, bench.clock, bench.cache, bench.interrupted);
  REQUIRE(timings.size() == 3);
  CHECK(*timings[0].time_median_s == Catch::Approx(1e-3).epsilon(1e-3));
  CHECK(*timings[2].time_median_s == Catch::Approx(3e-3).epsilon(1e-3));
  CHECK(*timings[2].time_min_s == Catch::Approx(3e-3).epsilon(1e-3));
  CHECK_FALSE(timings[0].below_resolution);
  CHECK(timings[1].below_resolution);
  CHECK(timings[0].samples >= 5);
  for (std::size_t i = 0; i < order.size(); ++i)
    REQUIRE(order[i] == i % 3);
  CHECK(order.size() == 3 * static_cast<std::size_t>(timings[0].samples + 1));
}

TEST_CASE("a launch pass ends at its timeout, when interrupted, and with nothing to run") {
  SessionBench bench;
  const auto slow = [&](std::size_t) { bench.clock.advance_s(1.5); };
  CHECK(measure_launches(1, slow, {}, bench.clock, bench.cache, bench.interrupted)[0].samples == 1);
  CHECK(bench.clock.elapsed_s() < 3.1);
  CHECK(measure_launches(0, slow, {}, bench.clock, bench.cache, bench.interrupted).empty());
  bench.interrupted = true;
  const auto none = measure_launches(1, slow, {}, bench.clock, bench.cache, bench.interrupted);
  CHECK(none[0].samples == 0);
  CHECK_FALSE(none[0].time_median_s);
}
