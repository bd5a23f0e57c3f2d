#include "cli/device_case.hpp"

#include "operators/core/error.hpp"
#include "profilers/gpu/launch_times.hpp"
#include "profilers/gpu/metric_plan.hpp"
#include "profilers/statistics.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace attnprof::cli {
namespace {

namespace gpu = operators::gpu;
using profilers::DeviceReport;
using profilers::Record;

constexpr int kTracedRuns = 5;
/// Gaps that take this share of a run: the host cannot start launches as fast as the device ends them.
constexpr double kLaunchBoundShare = 0.5;
/// A worker starts, prepares and verifies like the case itself, and then counts.
constexpr double kWorkerTimeouts = 4;
constexpr double kWorkerExtraS = 120;

std::optional<double> largest(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(*std::max_element(values.begin(), values.end()));
}

/// Of the samples themselves: the states of warm-up runs stand in front of them.
void note_card(Record& record, const profilers::DeviceClock& clock) {
  DeviceReport& device = *record.device;
  const std::size_t samples = record.measured ? record.measured->samples_s.size() : 0;
  const std::vector<gpu::CardState>& states = clock.states();
  const std::size_t first = states.size() - std::min(samples, states.size());
  std::vector<double> sm, memory, temperature, power;
  std::set<std::string> reasons;
  std::int64_t throttled = 0;
  const auto keep = [](std::vector<double>& values, std::optional<double> value) {
    if (value) {
      values.push_back(*value);
    }
  };
  for (std::size_t i = first; i < states.size(); ++i) {
    keep(sm, states[i].sm_clock_hz);
    keep(memory, states[i].memory_clock_hz);
    keep(temperature, states[i].temperature_c);
    keep(power, states[i].power_w);
    throttled += states[i].throttle_reasons.empty() ? 0 : 1;
    reasons.insert(states[i].throttle_reasons.begin(), states[i].throttle_reasons.end());
  }
  device.sm_clock_hz = profilers::median(sm);
  device.memory_clock_hz = profilers::median(memory);
  device.temperature_c = largest(temperature);
  device.power_w = largest(power);
  if (!sm.empty()) { // a card that says nothing about its clock says nothing about throttling
    device.throttled_samples = throttled;
  }
  device.throttle_reasons = fmt::format("{}", fmt::join(reasons, ", "));
  if (throttled > 0) {
    record.warnings.push_back(fmt::format("the card lowered its clock during {} of {} samples ({})", throttled, samples,
                                          device.throttle_reasons));
  }
}

void trace(PreparedCase& prepared) {
  Record& record = prepared.record;
  const std::size_t launches = record.launches.size();
  std::vector<gpu::ActivityReport> runs;
  for (int run = 0; run < kTracedRuns; ++run) {
    runs.push_back(prepared.device->trace(launches, [&](std::size_t i) { prepared.program->run_launch(i); }));
    if (!runs.back().refusal.empty()) {
      record.device->level = std::string(name_of(gpu::Level::kEvents));
      record.device->level_reason = runs.back().refusal;
      return;
    }
  }
  const profilers::TracedTimes traced = profilers::traced_times(runs, launches);
  for (std::size_t i = 0; i < launches; ++i) {
    if (traced.launch_s[i]) {
      record.launches[i].time_median_s = traced.launch_s[i];
    }
  }
  record.device->kernel_time_s = traced.kernel_s;
  record.device->launch_gap_s = traced.gap_s;
  if (traced.kernel_s) {
    record.device->kernels = traced.kernels;
  }
  record.warnings.insert(record.warnings.end(), traced.warnings.begin(), traced.warnings.end());
  if (traced.kernel_s && traced.gap_s && *traced.gap_s > kLaunchBoundShare * (*traced.kernel_s + *traced.gap_s)) {
    record.warnings.push_back(fmt::format("launch-bound: the GPU waited for launches in {} of {} of one run",
                                          reports::seconds(traced.gap_s),
                                          reports::seconds(*traced.kernel_s + *traced.gap_s)));
  }
}

/// Counts of another run of the same case, and what it says about them.
void take_counts(const Record& from, Record& to) {
  for (std::size_t i = 0; i < to.launches.size(); ++i) {
    to.launches[i].counts = from.launches[i].counts;
  }
  to.device->counts = from.device->counts;
  to.device->level = from.device->level;
  to.device->level_reason = from.device->level_reason;
  to.counter_origin = from.counter_origin;
  if (to.measured && from.measured) {
    to.measured->counters = from.measured->counters;
  }
}

std::string plan_text(const profilers::MetricPlan& plan) {
  std::vector<std::string> out;
  for (const auto& [quantity, reason] : plan.absent) {
    out.push_back(fmt::format("without {}: {}", name_of(quantity), reason));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

void count(PreparedCase& prepared) {
  Record& record = prepared.record;
  const profilers::MetricPlan plan =
      profilers::plan_metrics(prepared.device->metric_names(), operators::dtype_from_name(record.config.text("dtype")),
                              operators::product_math_of(record.config));
  const gpu::CounterReport report = prepared.device->count(plan.metrics(), record.launches.size(),
                                                           [&](std::size_t i) { prepared.program->run_launch(i); });
  if (!report.refusal.empty()) {
    record.device->level = std::string(name_of(gpu::Level::kActivity));
    record.device->level_reason = report.refusal;
    record.counter_origin = "unavailable: " + report.refusal;
    return;
  }
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    record.launches[i].counts =
        profilers::evaluate(plan, i < report.values.size() ? report.values[i] : std::vector<double>());
    record.device->counts = i == 0 ? record.launches[i].counts : record.device->counts + record.launches[i].counts;
  }
  record.counter_origin = fmt::format("CUPTI range profiler, one range a launch, {} passes{}{}", report.passes,
                                      plan.absent.empty() ? "" : "; ", plan_text(plan));
  if (record.measured) {
    const auto whole = [](std::optional<double> value) {
      return value ? std::optional(static_cast<std::int64_t>(std::llround(*value))) : std::nullopt;
    };
    record.measured->counters.dram_bytes = whole(record.device->counts.of(profilers::GpuQuantity::kDramBytes));
    record.measured->counters.fp_ops = whole(profilers::all_ops(record.device->counts));
    if (record.measured->counters.dram_bytes) {
      record.measured->counters.dram_source = "controllers";
    }
    record.measured->counters.counter_passes = report.passes;
  }
}

/// What a worker process counted. It runs the same case once more, from the same seed.
void count_in_worker(PreparedCase& prepared, const MeasuringRequest& measuring, Seams& seams) {
  Record& record = prepared.record;
  const double timeout_s = kWorkerTimeouts * measuring.timing.timeout_s + kWorkerExtraS;
  const std::vector<std::string> args = {
      "run",       record.id, "--json", "--counters=here", fmt::format("--seed={}", measuring.seed), "--repetitions=1",
      "--warmup=1"};
  const ChildResult child = seams.run_self(args, timeout_s);
  std::string reason = child.timed_out ? "its process did not end in time"
                                       : fmt::format("its process ended with exit code {}", child.exit_code);
  if (!child.timed_out && child.exit_code == 0) {
    try {
      const std::vector<Record> records =
          reports::records_from_document(reports::parse_json(child.out, "the counting process"));
      if (records.size() == 1 && records.front().id == record.id && records.front().device &&
          records.front().launches.size() == record.launches.size()) {
        take_counts(records.front(), record);
        return;
      }
      reason = "its output holds another case";
    } catch (const operators::Error& error) {
      reason = error.what();
    }
  }
  record.counter_origin = "unavailable: the counting process gave no figures, " + reason;
}

} // namespace

void begin_device_case(PreparedCase& prepared, profilers::Clock& host) {
  const auto launches = static_cast<std::int64_t>(prepared.launches.ops.size());
  prepared.device_clock = std::make_unique<profilers::DeviceClock>(*prepared.device, host, launches);
  DeviceReport report;
  report.name = prepared.device->facts().name;
  prepared.record.device = report;
}

void run_launch_to_its_end(const PreparedCase& prepared, std::size_t launch) {
  prepared.program->run_launch(launch);
  if (prepared.device != nullptr) {
    prepared.device->synchronize();
  }
}

std::unique_ptr<profilers::Clock> launch_timer(const PreparedCase& prepared, profilers::Clock& host) {
  return prepared.device == nullptr ? nullptr : std::make_unique<profilers::DeviceClock>(*prepared.device, host, 1);
}

void explain_device_case(PreparedCase& prepared, const MeasuringRequest& measuring, Seams& seams) {
  Record& record = prepared.record;
  const bool counts = measuring.counters != CounterUse::kOff && !seams.interrupt->requested;
  note_card(record, *prepared.device_clock);
  // Asked for after the samples: a profiler that attaches earlier would be in them.
  const gpu::LevelReport level = prepared.device->level();
  record.device->level = std::string(name_of(level.level));
  record.device->level_reason = level.reason;
  record.counter_origin = counts ? "unavailable: " + level.reason : "off: --counters off";
  if (level.level >= gpu::Level::kActivity) {
    trace(prepared);
  }
  if (!counts || level.level < gpu::Level::kCounters) {
    return;
  }
  if (measuring.counters == CounterUse::kHere || !seams.run_self) {
    count(prepared);
  } else {
    count_in_worker(prepared, measuring, seams);
  }
}

} // namespace attnprof::cli
