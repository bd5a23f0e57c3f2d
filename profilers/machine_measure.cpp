#include "profilers/machine_measure.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace attnprof::profilers {
namespace {

constexpr std::int64_t kGrain = 512; // the kernels' step: 128 floats
constexpr int kLeastRounds = 5;
constexpr int kMostRounds = 2000;
// Clean rounds of a case: with fewer than the first, disturbed ones count too; with the second, other cases go on.
constexpr std::size_t kLeastClean = 5;
constexpr std::size_t kEnoughRounds = 40;
// On a busy machine the parts may take this much more of the budget together, until each case has kLeastClean.
constexpr double kExtraShare = 0.5;
// The part of its rounds that a ceiling is slower than.
constexpr double kCeilingQuantile = 0.9;
constexpr double kFullBudget = 12;

// Shares of the budget; what one phase leaves over goes to the next.
constexpr double kComputeShare = 0.2;
constexpr double kCurveShare = 0.35;

std::int64_t at_least_one(double count) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(count));
}

struct Spread {
  double ceiling = 0;
  double low = 0;
  double high = 0;
};

Spread spread_of(const std::vector<double>& rates) {
  return {*quantile(rates, kCeilingQuantile), *quantile(rates, 0.1), *quantile(rates, 1)};
}

/// Figures of rounds, those of disturbed rounds apart.
struct Rounds {
  std::vector<double> clean;
  std::vector<double> disturbed;
  void add(double figure, bool was_disturbed) { (was_disturbed ? disturbed : clean).push_back(figure); }
  [[nodiscard]] bool is_enough() const { return clean.size() >= kEnoughRounds; }
  /// The clean ones, where there are a few; else all.
  [[nodiscard]] std::vector<double> usable() const {
    if (clean.size() >= kLeastClean)
      return clean;
    std::vector<double> all = clean;
    all.insert(all.end(), disturbed.begin(), disturbed.end());
    return all;
  }
};

std::int64_t rounded_to(std::int64_t bytes, std::int64_t grain) {
  return std::max(grain, bytes / grain * grain);
}

class Measuring {
 public:
  Measuring(const Environment& environment, ProbeRunner& runner, Clock& clock, double budget_s)
      : environment_(environment), runner_(runner), clock_(clock), budget_s_(budget_s),
        sample_s_(std::clamp(1e-3 * budget_s / kFullBudget, 0.4e-3, 2e-3)), begin_ns_(clock.now_ns()) {
    thread_counts_ = {1};
    if (environment.cores > 1)
      thread_counts_.push_back(environment.cores);
    machine_.environment = environment;
    machine_.fingerprint = fingerprint(environment);
    machine_.timer = clock.name();
    const TimerQuality quality = probe_timer(clock);
    machine_.timer_resolution_s = quality.resolution_s;
    machine_.timer_overhead_s = quality.overhead_s;
  }

  Machine run() {
    machine_.absent = runner_.absent_probes();
    measure_compute();
    measure_curves();
    measure_levels();
    measure_launches();
    machine_.cpu_clock_hz = median(clocks_);
    return std::move(machine_);
  }

 private:
  // Repeats `round` until each case has had enough or this part's deadline is
  // over, and a few times in any case. The deadline is put off while a case has
  // hardly a clean round.
  template <typename Case, typename Round>
  void repeat_until(double deadline_s, const std::vector<Case>& cases, const Round& round) {
    const auto has = [&](std::size_t clean) {
      return std::all_of(cases.begin(), cases.end(), [&](const Case& one) { return one.rounds.clean.size() >= clean; });
    };
    const double extra_s = kExtraShare * budget_s_ / 3; // there are three parts
    for (int i = 0; i < kMostRounds; ++i) {
      const double now_s = seconds_between(begin_ns_, clock_.now_ns());
      const double until_s = has(kLeastClean) ? deadline_s : deadline_s + extra_s;
      if (i >= kLeastRounds && (now_s >= until_s || has(kEnoughRounds)))
        return;
      if (const auto hz = runner_.cpu_clock_hz())
        clocks_.push_back(*hz);
      round(static_cast<std::size_t>(i));
    }
  }

  // Another order each round: a case that always follows the same one would
  // always find the cores as that one left them.
  template <typename Case, typename Run>
  static void run_shuffled(std::vector<Case>& cases, std::size_t round, const Run& run) {
    std::vector<std::size_t> order(cases.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(round);
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[random() % left]);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return cases[a].threads < cases[b].threads; });
    for (const std::size_t i : order)
      if (!cases[i].rounds.is_enough())
        run(cases[i]);
  }

  struct ComputeCase {
    std::size_t probe = 0;
    int threads = 1;
    std::int64_t iterations = 1;
    Rounds once_s; ///< pairs: both clean or both not
    Rounds twice_s;
    Rounds rounds;   ///< rates
    double work = 0; ///< of one run
  };

  void measure_compute() {
    const auto probes = runner_.compute_probes();
    std::vector<ComputeCase> cases;
    for (std::size_t probe = 0; probe < probes.size(); ++probe)
      for (const int threads : thread_counts_)
        cases.push_back({probe, threads, iterations_for_sample(probe, threads), {}, {}, {}, 0});
    for (ComputeCase& one : cases)
      one.work = probes[one.probe].work_per_iteration * static_cast<double>(one.iterations) * one.threads;
    repeat_until(kComputeShare * budget_s_, cases, [&](std::size_t round) {
      run_shuffled(cases, round, [&](ComputeCase& one) { sample_compute(one); });
    });
    for (ComputeCase& one : cases)
      add_compute(one, probes[one.probe]);
  }

  // Half a sample, as the double of it is run too. The fastest of three runs:
  // one that was interrupted looks longer than it is and would leave the
  // samples too short.
  std::int64_t iterations_for_sample(std::size_t probe, int threads) {
    std::int64_t iterations = 16;
    while (iterations < (std::int64_t{1} << 40U)) {
      double fastest_s = std::numeric_limits<double>::max();
      for (int run = 0; run < 3; ++run)
        fastest_s = std::min(fastest_s, runner_.run_compute(probe, threads, iterations));
      if (fastest_s >= sample_s_ / 8)
        return at_least_one(static_cast<double>(iterations) * sample_s_ / (2 * fastest_s));
      iterations *= 4;
    }
    return iterations;
  }

  void sample_compute(ComputeCase& one) {
    const double once_s = runner_.run_compute(one.probe, one.threads, one.iterations);
    const bool once_disturbed = runner_.was_disturbed();
    const double twice_s = runner_.run_compute(one.probe, one.threads, 2 * one.iterations);
    const bool twice_disturbed = runner_.was_disturbed();
    one.rounds.add(one.work / once_s, once_disturbed);
    one.rounds.add(2 * one.work / twice_s, twice_disturbed);
    one.once_s.add(once_s, once_disturbed || twice_disturbed);
    one.twice_s.add(twice_s, once_disturbed || twice_disturbed);
  }

  // On a busy machine few samples are undisturbed. More of them clear a sound
  // probe; one whose loop was removed keeps its ratio of 1 however often it
  // runs.
  bool measures_work(ComputeCase& one) {
    constexpr int kExtraSamples = 40;
    for (int extra = 0; extra < kExtraSamples; ++extra) {
      if (work_doubles_time(one.once_s.clean, one.twice_s.clean).value_or(false) ||
          work_doubles_time(one.once_s.usable(), one.twice_s.usable()).value_or(false))
        return true;
      sample_compute(one);
    }
    return false;
  }

  void add_compute(ComputeCase& one, const ProbeRunner::Compute& probe) {
    if (!measures_work(one)) {
      machine_.absent.push_back(
          {probe.unit, probe.dtype, probe.isa,
           fmt::format("doubling the work on {} threads changed the time from "
                       "{:.3g} s to {:.3g} "
                       "s: the loop does not measure it",
                       one.threads, *quantile(one.once_s.usable(), 0), *quantile(one.twice_s.usable(), 0))});
      return;
    }
    const Spread spread = spread_of(one.rounds.usable());
    machine_.compute.push_back(
        {probe.unit, probe.dtype, probe.isa, one.threads, spread.ceiling, spread.low, spread.high, "measured"});
  }

  // Bytes per second of one sample of about sample_s_, a single pass where that
  // takes longer.
  double traffic_rate(Traffic kind, int threads, std::int64_t bytes_per_thread, double guess_bytes_per_s) {
    const std::int64_t bytes = rounded_to(bytes_per_thread, kGrain * arrays_of(kind));
    const std::int64_t window = window_of(kind, threads, bytes, guess_bytes_per_s);
    if (window < bytes)
      return static_cast<double>(window) * threads / runner_.run_stream(kind, threads, bytes, window);
    const double pass_bytes = static_cast<double>(bytes) * threads;
    const std::int64_t repeats = at_least_one(sample_s_ * guess_bytes_per_s / pass_bytes);
    return pass_bytes * static_cast<double>(repeats) / runner_.run_traffic(kind, threads, bytes, repeats);
  }

  // Far beyond the last-level cache nothing of an earlier pass is left, so that
  // a part of a pass will do.
  std::int64_t window_of(Traffic kind, int threads, std::int64_t bytes, double guess_bytes_per_s) const {
    constexpr std::int64_t kUnknownCache = std::int64_t{64} << 20U;
    constexpr std::int64_t kLeastWindow = std::int64_t{1} << 20U;
    if (bytes * threads < 2 * last_level_bytes(environment_).value_or(kUnknownCache))
      return bytes;
    const auto wanted = static_cast<std::int64_t>(sample_s_ * guess_bytes_per_s / threads);
    // At most a quarter, or the windows of two neighbouring samples could meet
    // in the cache.
    return rounded_to(std::clamp(wanted, kLeastWindow, std::max(kLeastWindow, bytes / 4)), kGrain * arrays_of(kind));
  }

  struct Target {
    std::string level;
    int threads = 1;
    Traffic kind = Traffic::kRead;
    std::int64_t bytes_per_thread = 0;
    double guess_bytes_per_s = 0;
    Rounds rounds;
  };

  struct CurveCase {
    int threads = 1;
    std::int64_t bytes_per_thread = 0;
    double last_rate = 0;
    Rounds rounds;
  };

  void measure_curves() {
    std::vector<CurveCase> cases;
    for (const int threads : thread_counts_)
      for (const std::int64_t bytes : working_set_ladder(largest_working_set(environment_) / threads))
        cases.push_back({threads, bytes, kFirstGuess * threads, {}});
    repeat_until((kComputeShare + kCurveShare) * budget_s_, cases, [&](std::size_t round) {
      run_shuffled(cases, round, [&](CurveCase& one) {
        one.last_rate = traffic_rate(Traffic::kRead, one.threads, one.bytes_per_thread, one.last_rate);
        one.rounds.add(one.last_rate, runner_.was_disturbed());
      });
    });
    for (const int threads : thread_counts_)
      add_curve(cases, threads);
  }

  void add_curve(const std::vector<CurveCase>& cases, int threads) {
    std::vector<CurvePoint> of_one_thread;
    ThreadCurve curve{threads, {}};
    for (const CurveCase& one : cases) {
      if (one.threads != threads)
        continue;
      const double rate = *quantile(one.rounds.usable(), kCeilingQuantile);
      of_one_thread.push_back({one.bytes_per_thread, rate});
      curve.points.push_back({one.bytes_per_thread * threads, rate});
    }
    machine_.curves.push_back(curve);
    const std::int64_t top_bytes = of_one_thread.back().working_set_bytes;
    const auto plateaus = find_plateaus(of_one_thread);
    const auto names = name_plateaus(plateaus, cache_shares(environment_, threads));
    for (std::size_t i = 0; i < plateaus.size(); ++i)
      if (names[i])
        add_level(*names[i], threads, plateaus[i], top_bytes, "curve");
    add_levels_of_the_system(threads, top_bytes, of_one_thread.front().bytes_per_s);
  }

  bool has_level(const std::string& name, int threads) const {
    return std::any_of(targets_.begin(), targets_.end(),
                       [&](const Target& target) { return target.level == name && target.threads == threads; });
  }

  // A level that the curve does not set apart still has a bandwidth: it is
  // measured inside the size that the system gives, for DRAM far beyond the
  // last cache.
  void add_levels_of_the_system(int threads, std::int64_t top_bytes, double guess_bytes_per_s) {
    const auto shares = cache_shares(environment_, threads);
    std::int64_t largest = 0;
    for (const CacheShare& share : shares) {
      const std::string name = fmt::format("L{}", share.level);
      largest = std::max(largest, share.bytes);
      if (!has_level(name, threads) && share.bytes <= top_bytes)
        add_level(name, threads, {share.bytes / 4, share.bytes, guess_bytes_per_s}, top_bytes, "system");
    }
    if (has_level("DRAM", threads))
      return;
    if (top_bytes >= 2 * largest)
      add_level("DRAM", threads, {top_bytes / 2, top_bytes, guess_bytes_per_s}, top_bytes, "system");
    else
      machine_.notes.push_back(fmt::format("DRAM was not measured on {} threads: the {} bytes that "
                                           "may be used are not "
                                           "twice the last-level cache",
                                           threads, top_bytes * threads));
  }

  void add_level(const std::string& name, int threads, const Plateau& plateau, std::int64_t top_bytes,
                 const char* origin) {
    const bool memory = name == "DRAM";
    MemoryLevel level{name, threads, std::nullopt, origin};
    if (!memory)
      level.capacity_bytes = plateau.last_bytes * threads;
    machine_.levels.push_back(level);
    Target target;
    target.level = name;
    target.threads = threads;
    // Well inside a cache, far outside all of them for memory.
    target.bytes_per_thread = memory ? top_bytes
                                     : static_cast<std::int64_t>(std::sqrt(static_cast<double>(plateau.first_bytes) *
                                                                           static_cast<double>(plateau.last_bytes)));
    target.guess_bytes_per_s = plateau.bytes_per_s;
    for (const Traffic kind : kAllTraffic) {
      const bool non_temporal = kind == Traffic::kWriteNt || kind == Traffic::kCopyNt || kind == Traffic::kTriadNt;
      target.kind = kind;
      if (runner_.offers(kind) && (memory || !non_temporal))
        targets_.push_back(target);
    }
  }

  void measure_levels() {
    std::sort(machine_.levels.begin(), machine_.levels.end(), [](const MemoryLevel& a, const MemoryLevel& b) {
      // "DRAM" sorts before "L1": put it last by hand.
      return std::tuple(a.threads, a.level == "DRAM", a.level) < std::tuple(b.threads, b.level == "DRAM", b.level);
    });
    std::stable_sort(targets_.begin(), targets_.end(), [](const Target& a, const Target& b) {
      return std::tuple(a.threads, a.level == "DRAM", a.level) < std::tuple(b.threads, b.level == "DRAM", b.level);
    });
    repeat_until(budget_s_, targets_, [&](std::size_t round) {
      run_shuffled(targets_, round, [&](Target& target) {
        const double rate =
            traffic_rate(target.kind, target.threads, target.bytes_per_thread, target.guess_bytes_per_s);
        target.rounds.add(rate, runner_.was_disturbed());
      });
    });
    for (const Target& target : targets_) {
      const Spread spread = spread_of(target.rounds.usable());
      const std::int64_t bytes = rounded_to(target.bytes_per_thread, kGrain * arrays_of(target.kind));
      machine_.bandwidth.push_back({target.level, std::string(name_of(target.kind)), target.threads, spread.ceiling,
                                    spread.low, spread.high, bytes * target.threads, "measured"});
    }
  }

  // Milliseconds in all: not worth a share of the budget.
  void measure_launches() {
    constexpr int kRounds = 21;
    constexpr int kLaunches = 50;
    for (const int threads : thread_counts_) {
      std::vector<double> times_s;
      for (int round = 0; round < kRounds; ++round)
        times_s.push_back(runner_.run_empty_launches(threads, kLaunches));
      machine_.launch_overheads.push_back({threads, *median(times_s)});
    }
  }

  static constexpr double kFirstGuess = 20e9;

  const Environment& environment_;
  ProbeRunner& runner_;
  Clock& clock_;
  double budget_s_;
  double sample_s_;
  std::int64_t begin_ns_;
  std::vector<int> thread_counts_;
  std::vector<Target> targets_;
  std::vector<double> clocks_;
  Machine machine_;
};

} // namespace

std::string_view name_of(Traffic kind) {
  switch (kind) {
  case Traffic::kRead: return "read";
  case Traffic::kWrite: return "write";
  case Traffic::kCopy: return "copy";
  case Traffic::kTriad: return "triad";
  case Traffic::kWriteNt: return "write_nt";
  case Traffic::kCopyNt: return "copy_nt";
  case Traffic::kTriadNt: return "triad_nt";
  }
  return "";
}

int arrays_of(Traffic kind) {
  switch (kind) {
  case Traffic::kRead:
  case Traffic::kWrite:
  case Traffic::kWriteNt: return 1;
  case Traffic::kCopy:
  case Traffic::kCopyNt: return 2;
  case Traffic::kTriad:
  case Traffic::kTriadNt: return 3;
  }
  return 1;
}

std::vector<std::int64_t> working_set_ladder(std::int64_t top_bytes) {
  std::vector<std::int64_t> sizes;
  for (int step = 24;; ++step) { // 2^12 = 4 KiB
    const std::int64_t bytes = rounded_to(static_cast<std::int64_t>(std::pow(2.0, step / 2.0)), kGrain);
    if (bytes > top_bytes)
      return sizes;
    sizes.push_back(bytes);
  }
}

std::int64_t largest_working_set(const Environment& environment) {
  constexpr std::int64_t kLeast = std::int64_t{256} << 20U;
  constexpr std::int64_t kFloor = std::int64_t{1} << 20U;
  std::int64_t bytes = std::max(kLeast, 4 * last_level_bytes(environment).value_or(0));
  if (environment.memory_available_bytes)
    bytes = std::min(bytes, *environment.memory_available_bytes / 4);
  return std::max(bytes, kFloor);
}

std::vector<CacheShare> cache_shares(const Environment& environment, int threads) {
  std::vector<CacheShare> shares;
  for (const Cache& cache : environment.caches) {
    const int sharers = (threads + cache.instances - 1) / std::max(1, cache.instances);
    shares.push_back({cache.level, cache.size_bytes / std::max(1, sharers)});
  }
  return shares;
}

std::optional<bool> work_doubles_time(std::span<const double> once_s, std::span<const double> twice_s) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(once_s.size(), twice_s.size()); ++i)
    if (once_s[i] > 0)
      ratios.push_back(twice_s[i] / once_s[i]);
  const auto of_pairs = median(ratios);
  if (!of_pairs)
    return std::nullopt;
  const double fastest_once_s = *quantile(once_s, 0);
  const auto doubles = [](double ratio) { return ratio >= 1.8 && ratio <= 2.2; };
  return doubles(*of_pairs) || (fastest_once_s > 0 && doubles(*quantile(twice_s, 0) / fastest_once_s));
}

Machine measure_machine(const Environment& environment, ProbeRunner& runner, Clock& clock,
                        const MachineOptions& options) {
  return Measuring(environment, runner, clock, options.budget_s).run();
}

} // namespace attnprof::profilers
