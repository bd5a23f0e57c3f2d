#include "cli/case_runner.hpp"

#include "cli/device_case.hpp"
#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <numeric>
#include <set>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using operators::Graph;
using profilers::Phase;
using profilers::Record;
using profilers::Status;
using PhaseScope = profilers::PhaseClock::Scope;

/// The system, the file cache and this program's tables need some too.
constexpr double kUsableShareOfMemory = 0.9;
/// A single run that takes this multiple of the timeout, and this much more, is not worth its time.
constexpr double kFarOver = 1.5;
constexpr double kFarOverS = 2.0; // a busy machine can stall a process for that long
/// Shares of the timeout: the pass over single launches has at least the first to itself, and at most the second.
constexpr double kLeastLaunchShare = 0.2;
constexpr double kMostLaunchShare = 0.5;
/// Share of the time that is left after the samples for counting.
constexpr double kCountingShare = 0.25;
/// A launch pass runs everything at least twice.
constexpr double kLaunchPassRuns = 2;
/// A first run that takes this share of the timeout is all the warm-up that there is time for.
constexpr double kFirstRunIsWarmUp = 0.2;

/// A case whose preparation took its whole share is still measured for a moment.
constexpr double kLeastShareS = 0.1;

double longest_run_s(double timeout_s) {
  return std::max(kFarOver * timeout_s, timeout_s + kFarOverS);
}

/// What of the timeout is kept for the launch pass.
double launch_share_s(double first_run_s, double timeout_s) {
  return std::clamp(kLaunchPassRuns * first_run_s, kLeastLaunchShare * timeout_s, kMostLaunchShare * timeout_s);
}

Status status_of(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::kInvalid:
  case ErrorKind::kOverflow: return Status::kInvalid;
  case ErrorKind::kMemory:
  case ErrorKind::kDeviceLost: return Status::kSkipped;
  case ErrorKind::kUnsupported:
  case ErrorKind::kUnavailable: return Status::kUnsupported;
  case ErrorKind::kUsage:
  case ErrorKind::kIo:
  case ErrorKind::kInternal: return Status::kFailed;
  }
  return Status::kFailed;
}

/// Runs a step and turns what it throws into status and reason; the one place of the project that does so for a case.
template <class Step>
void guarded(Record& record, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    record.status = status_of(error.kind());
    record.reason = error.what();
  } catch (const std::bad_alloc&) {
    record.status = Status::kFailed;
    record.reason = "the system refused memory that seemed to be free; close other programs or use smaller sizes";
  } catch (const std::exception& error) {
    record.status = Status::kFailed;
    record.reason = fmt::format("unexpected error: {}", error.what());
  }
  if (record.status != Status::kOk) {
    record.measured.reset();
  }
}

/// Distinct implementations, the one with the most time first.
std::string implementations_of(const Record& record) {
  std::vector<std::pair<std::string, double>> times;
  for (const profilers::LaunchRecord& launch : record.launches) {
    const auto same = [&](const auto& entry) { return entry.first == launch.kernel_impl; };
    const auto found = std::find_if(times.begin(), times.end(), same);
    const double time_s = launch.time_median_s.value_or(0.0);
    if (found == times.end()) {
      times.emplace_back(launch.kernel_impl, time_s);
    } else {
      found->second += time_s;
    }
  }
  std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& [name, time_s] : times) {
    names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

} // namespace

std::string device_of(const operators::Config& config) {
  return config.has("device") ? config.text("device") : std::string("cpu");
}

CaseRunner::CaseRunner(Seams& seams, MeasuringRequest measuring, const profilers::Machine* machine,
                       profilers::PhaseClock* phases)
    : seams_(seams), measuring_(std::move(measuring)), machine_(machine), phases_(phases) {
  if (measuring_.counters == CounterUse::kOff) {
    counter_origin_ = "off: --counters off";
  } else if (measuring_.counters == CounterUse::kValgrind) {
    if (!seams_.simulate) {
      throw Error(ErrorKind::kUnavailable,
                  "--counters valgrind: the program valgrind is not on the search path; install the package valgrind, "
                  "or use --counters auto");
    }
    counter_origin_ = "unavailable: nothing was simulated";
  } else {
    counter_origin_ = seams_.counters ? seams_.counters().summary() : "unavailable: this program has none";
  }
  if (measuring_.counters == CounterUse::kRequired && !(seams_.counters && seams_.counters().has_pmu())) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("--counters required: the processor's counters cannot be read; {}", counter_origin_));
  }
}

CaseRunner::~CaseRunner() = default;

operators::Executor& CaseRunner::executor_for(const std::string& device) {
  std::unique_ptr<operators::Executor>& executor = executors_[device];
  if (executor == nullptr) {
    executor = seams_.make_executor(device);
  }
  return *executor;
}

PreparedCase CaseRunner::prepare(const PlannedCase& planned) {
  const PhaseScope scope(phases_, Phase::kLowering);
  PreparedCase out;
  out.record = rejected_record(planned, Status::kOk, {});
  guarded(out.record, [&] {
    CostedCase costed = cost_case(planned);
    out.record = std::move(costed.record);
    out.launches = std::move(costed.launches);
    make_ready(out);
  });
  if (out.record.status != Status::kOk) {
    out.program.reset();
  }
  return out;
}

void CaseRunner::make_ready(PreparedCase& prepared) {
  Record& record = prepared.record;
  const profilers::Environment environment = seams_.environment();
  operators::ExecOptions options;
  options.threads = static_cast<int>(record.config.integer_or("threads", environment.cores));
  options.seed = measuring_.seed;
  options.math = operators::product_math_of(record.config);
  if (options.threads > environment.cores) {
    record.warnings.push_back(
        fmt::format("{} threads share the {} cores that this process may use", options.threads, environment.cores));
  }
  operators::Executor& executor = executor_for(device_of(record.config));
  if (const auto reason = executor.unsupported(prepared.launches)) {
    throw Error(ErrorKind::kUnsupported, *reason);
  }
  check_memory(executor, prepared.launches, options);
  add_modelled_traffic(record, prepared.launches, environment, measuring_.cache_policy);
  if (is_too_long(record)) {
    return;
  }
  {
    const PhaseScope scope(phases_, Phase::kBuffers);
    prepared.program = executor.prepare(prepared.launches, options);
  }
  if ((prepared.device = executor.device()) != nullptr) {
    begin_device_case(prepared, *seams_.clock);
  }
  record.threads = options.threads;
  record.processors = fmt::format("{}", fmt::join(prepared.program->processors(), ","));
  record.counter_origin =
      device_of(record.config) == "cpu" ? counter_origin_ : "unavailable: the processor's counters see no device";
  const std::vector<std::string>& implementations = prepared.program->kernel_impls();
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    record.launches[i].kernel_impl = implementations.at(i);
  }
  {
    const PhaseScope scope(phases_, Phase::kVerification);
    verify(prepared, executor, options);
  }
  if (record.status == Status::kOk) {
    set_cache_policy(prepared);
    run_first(prepared);
  }
}

bool CaseRunner::is_too_long(Record& record) const {
  const double timeout_s = measuring_.timing.timeout_s;
  if (machine_ == nullptr) {
    return false;
  }
  Record predicted = record;
  reports::predict(predicted, *machine_);
  if (predicted.roof.roof_time_s.value_or(0) <= longest_run_s(timeout_s)) {
    return false;
  }
  record = std::move(predicted);
  record.status = Status::kSkipped;
  record.reason = fmt::format("one run takes at least {} by the ceilings of this machine, far more than the timeout of "
                              "{}: raise --timeout or use smaller sizes",
                              reports::seconds(record.roof.roof_time_s), reports::seconds(timeout_s));
  return true;
}

/// Launch by launch, so that a case whose length nobody knows can be left, and Ctrl-C is heard.
void CaseRunner::run_first(PreparedCase& prepared) {
  const PhaseScope scope(phases_, Phase::kWarmUp);
  const double timeout_s = measuring_.timing.timeout_s;
  const profilers::FirstRun first = profilers::run_once(
      prepared.record.launches.size(), [&](std::size_t i) { run_launch_to_its_end(prepared, i); },
      longest_run_s(timeout_s), *seams_.clock, seams_.interrupt->requested);
  prepared.first_run_s = first.time_s;
  if (first.is_whole && first.time_s <= longest_run_s(timeout_s)) {
    return;
  }
  prepared.record.status = Status::kSkipped;
  prepared.record.reason =
      seams_.interrupt->requested
          ? std::string(kInterruptedReason)
          : fmt::format("{} of {} launches of its first run took {}, far more than the timeout of {}: raise --timeout "
                        "or use smaller sizes",
                        first.launches, prepared.record.launches.size(), reports::seconds(first.time_s),
                        reports::seconds(timeout_s));
}

void CaseRunner::check_memory(const operators::Executor& executor, const Graph& launches,
                              const operators::ExecOptions& options) const {
  const std::optional<std::int64_t> available = executor.device() != nullptr
                                                    ? std::optional(executor.device()->free_bytes())
                                                    : seams_.environment().memory_available_bytes;
  const std::int64_t needed = executor.memory_bytes(launches, options).value();
  if (available && static_cast<double>(needed) > kUsableShareOfMemory * static_cast<double>(*available)) {
    throw Error(
        ErrorKind::kMemory,
        fmt::format(
            "needs {} of memory ({} bytes), and {} ({} bytes) are free here, of which a tenth is left alone: use "
            "smaller sizes or --plan fused",
            reports::capacity(needed), needed, reports::capacity(*available), *available));
  }
}

void CaseRunner::set_cache_policy(PreparedCase& prepared) {
  prepared.cache.policy = measuring_.cache_policy;
  if (!prepared.cache.is_cold()) {
    return;
  }
  if (prepared.device != nullptr && measuring_.cache_policy == profilers::CachePolicy::kCold) {
    device_evictor_ = std::make_unique<profilers::DeviceCacheEvictor>(*prepared.device);
    prepared.cache.evictor = phased(*device_evictor_);
    return;
  }
  const Graph& launches = prepared.launches;
  for (std::size_t i = 0; i < launches.tensors.size(); ++i) {
    const operators::TensorRole role = launches.tensors[i].role;
    const bool weight = role == operators::TensorRole::kWeight;
    if (!weight && role != operators::TensorRole::kCache) {
      continue;
    }
    const auto memory = prepared.program->memory(static_cast<operators::TensorId>(i));
    if (!memory && measuring_.cache_policy != profilers::CachePolicy::kCold) {
      throw Error(
          ErrorKind::kUnsupported,
          fmt::format("--cache {} needs tensors in host memory, which the device {} does not have: use --cache cold",
                      profilers::name_of(measuring_.cache_policy), device_of(prepared.record.config)));
    }
    if (memory) {
      (weight ? prepared.cache.weights : prepared.cache.kv_cache).push_back(*memory);
    }
  }
  if (evictor_ == nullptr) {
    const profilers::Environment environment = seams_.environment();
    constexpr std::int64_t kAssumedLastLevel = 64 * 1024 * 1024;
    evictor_ = std::make_unique<profilers::SystemCacheEvictor>(
        static_cast<std::size_t>(profilers::last_level_bytes(environment).value_or(kAssumedLastLevel)),
        static_cast<std::size_t>(profilers::private_cache_bytes(environment)), environment.cores);
  }
  prepared.cache.evictor = phased(*evictor_);
}

profilers::CacheEvictor* CaseRunner::phased(profilers::CacheEvictor& evictor) {
  if (phases_ == nullptr) {
    return &evictor;
  }
  phased_evictor_ = std::make_unique<profilers::PhasedEvictor>(evictor, *phases_);
  return phased_evictor_.get();
}

Record CaseRunner::run(const PlannedCase& planned, std::optional<double> share_s) {
  const std::int64_t begin_ns = seams_.clock->now_ns();
  PreparedCase prepared = prepare(planned);
  Record& record = prepared.record;
  if (record.status != Status::kOk) {
    return std::move(record);
  }
  double timeout_s = measuring_.timing.timeout_s;
  if (share_s) {
    const double left_s = *share_s - profilers::seconds_between(begin_ns, seams_.clock->now_ns());
    timeout_s = std::min(timeout_s, std::max(left_s, kLeastShareS) + prepared.first_run_s);
  }
  guarded(record, [&] { time_case(prepared, timeout_s); });
  if (seams_.interrupt->requested && record.status == Status::kOk) {
    record.status = Status::kSkipped;
    record.reason = kInterruptedReason;
    record.measured.reset();
  }
  return std::move(record);
}

namespace {

double timed_s(const profilers::Measurement& measured) {
  return static_cast<double>(measured.iterations_per_sample) *
         std::accumulate(measured.samples_s.begin(), measured.samples_s.end(), 0.0);
}

} // namespace

/// First run, warm-up, samples and launch pass share the timeout.
void CaseRunner::time_case(PreparedCase& prepared, double timeout_s) {
  const double first_s = prepared.first_run_s;
  const double reserved_s = launch_share_s(first_s, timeout_s);
  profilers::MeasureOptions timing = measuring_.timing;
  const bool is_warm = !timing.warmup && first_s >= kFirstRunIsWarmUp * timeout_s;
  if (is_warm) {
    timing.warmup = 0;
  }
  timing.timeout_s = std::max(timeout_s - first_s - reserved_s, 1e-3 * timeout_s);
  const PhaseScope scope(phases_, Phase::kBetween);
  const std::int64_t begin_ns = seams_.clock->now_ns();
  Record& record = prepared.record;
  record.measured = profilers::measure([&] { prepared.program->run(); }, timing, prepared.timer(seams_), *seams_.host,
                                       prepared.cache, seams_.interrupt->requested);
  record.measured->warmup_runs += is_warm ? 1 : 0;
  if (phases_ != nullptr) {
    phases_->claim(Phase::kWarmUp, record.measured->warmup_s);
    phases_->claim(Phase::kSamples, timed_s(*record.measured));
  }
  if (timeout_s < measuring_.timing.timeout_s && record.measured->stop_reason == profilers::StopReason::kTimeout) {
    record.warnings.push_back(fmt::format("{} samples in its share of the sweep's time; --timeout gives each case its "
                                          "own",
                                          record.measured->samples_s.size()));
  }
  const double spent_s = first_s + profilers::seconds_between(begin_ns, seams_.clock->now_ns());
  explain(prepared, std::max(timeout_s - spent_s, reserved_s));
}

void CaseRunner::explain(PreparedCase& prepared, double most_s) {
  Record& record = prepared.record;
  const double counting_s = counts(record) ? kCountingShare * most_s : 0.0;
  time_launches(prepared, most_s - counting_s);
  if (prepared.device != nullptr) {
    explain_device_case(prepared, measuring_, seams_);
  }
  {
    const PhaseScope scope(phases_, Phase::kCounting);
    if (counting_s > 0) {
      count(prepared, counting_s);
    } else if (measuring_.counters == CounterUse::kValgrind && device_of(record.config) == "cpu") {
      simulate(prepared);
    }
    add_energy(prepared);
  }
  add_model(prepared);
  record.kernel_impl = implementations_of(record);
  if (machine_ != nullptr) {
    record.machine_fingerprint = machine_->fingerprint;
    reports::derive(record, *machine_);
  }
}

void CaseRunner::time_launches(PreparedCase& prepared, double most_s) {
  Record& record = prepared.record;
  if (kLaunchPassRuns * prepared.first_run_s > most_s) {
    record.warnings.emplace_back("the timeout left no time for the pass over single launches, so they have no times; "
                                 "raise --timeout");
    return;
  }
  profilers::LaunchOptions options;
  options.timeout_s = std::min(options.timeout_s, most_s);
  options.min_time_s = std::min(options.min_time_s, measuring_.timing.min_time_s);
  const std::unique_ptr<profilers::Clock> launch_clock = launch_timer(prepared, *seams_.clock);
  const std::vector<profilers::LaunchTiming> timings = profilers::measure_launches(
      record.launches.size(), [&](std::size_t i) { prepared.program->run_launch(i); }, options,
      launch_clock == nullptr ? *seams_.clock : *launch_clock, prepared.cache, seams_.interrupt->requested);
  for (std::size_t i = 0; i < timings.size(); ++i) {
    if (phases_ != nullptr) {
      phases_->claim(Phase::kWarmUp, timings[i].warmup_s);
      phases_->claim(Phase::kLaunches, timings[i].timed_s);
    }
    record.launches[i].time_median_s = timings[i].below_resolution ? std::nullopt : timings[i].time_median_s;
  }
  const auto short_ones = std::count_if(timings.begin(), timings.end(), [](const profilers::LaunchTiming& timing) {
    return timing.below_resolution && timing.time_median_s;
  });
  if (short_ones > 0) {
    record.warnings.push_back(fmt::format(
        "{} of {} launches take less than 20 steps of the timer, so they have no time", short_ones, timings.size()));
  }
}

void require_a_device(const SweepPlan& plan, Seams& seams) {
  std::set<std::string> absent;
  std::optional<Error> reason;
  for (const PlannedCase& planned : plan.cases) {
    const std::string device = device_of(planned.config);
    if (absent.contains(device)) {
      continue;
    }
    try {
      static_cast<void>(seams.make_executor(device));
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnavailable) {
        throw;
      }
      absent.insert(device);
      reason = error;
    }
  }
  if (reason) {
    throw Error(*reason);
  }
}

} // namespace attnprof::cli
