#include "profilers/perf/counters.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <set>

namespace attnprof::profilers {
namespace {

using enum ProbeVerdict;

/// No processor has more counters for one hardware thread.
constexpr std::size_t kMostInGroup = 8;
/// An interrupt or a migration can spoil one try.
constexpr int kCheckTries = 3;
/// Runs so short that a thousand of them do not fill a pass are still counted well.
constexpr double kShortestRunS = 1e-9;

constexpr std::string_view kCountsNothing = "it opens but counts nothing, which no running program can have done";

/// Generic events name the PMU of a hybrid machine in the upper half (perf_event_open(2), PERF_TYPE_HARDWARE).
void aim_at_kind(CounterEvent& event, const std::optional<std::uint32_t>& kind_pmu) {
  constexpr unsigned kPmuShift = 32;
  if (kind_pmu && (event.code.type == PERF_TYPE_HARDWARE || event.code.type == PERF_TYPE_HW_CACHE))
    event.code.config |= std::uint64_t{*kind_pmu} << kPmuShift;
}

bool is_used_in_pass(CounterQuantity quantity) {
  // Of these two the case has its own columns, from getrusage over the timed samples.
  return quantity != CounterQuantity::kPageFaults && quantity != CounterQuantity::kContextSwitches;
}

std::string names_of(const std::vector<CounterEvent>& events) {
  std::vector<std::string> names;
  for (const CounterEvent& event : events)
    names.push_back(event.name);
  return fmt::format("{}", fmt::join(names, " + "));
}

const CounterVerdict& verdict_of(const std::vector<CounterVerdict>& verdicts, CounterQuantity quantity) {
  return *std::find_if(verdicts.begin(), verdicts.end(),
                       [&](const CounterVerdict& verdict) { return verdict.quantity == quantity; });
}

void spin_briefly() {
  for (int i = 0; i < 1'000'000; ++i)
    asm volatile("" : : : "memory");
}

} // namespace

Counters::Counters(std::shared_ptr<PerfSystem> system, CounterHost host, std::vector<CheckKernel> kernels)
    : system_(std::move(system)), host_(std::move(host)), kernels_(std::move(kernels)) {}

const std::vector<CounterVerdict>& Counters::survey() {
  if (!verdicts_.empty())
    return verdicts_;
  for (const CounterQuantity quantity : kCounterQuantities)
    verdicts_.push_back(find(quantity));
  kernels_.clear(); // and their buffers
  settle_groups();
  return verdicts_;
}

bool Counters::has_pmu() {
  survey();
  return verdict_of(verdicts_, CounterQuantity::kCycles).verdict == kOk ||
         verdict_of(verdicts_, CounterQuantity::kInstructions).verdict == kOk;
}

CounterVerdict Counters::find(CounterQuantity quantity) {
  if (is_software(quantity))
    return find_open(quantity, software_choices(quantity));
  if (const auto refusal = hybrid_refusal(host_))
    return {quantity, kAbsent, refusal->reason, refusal->fix, {}};
  std::vector<CounterChoice> choices = hardware_choices(quantity, *system_);
  if (choices.empty() && quantity == CounterQuantity::kDramTraffic)
    return {quantity,
            kAbsent,
            "the system lists no counters of memory controllers; dram_bytes is llc_misses times the line",
            host_.hypervisor.value_or(false) ? "run on bare metal" : "load the kernel's uncore or amd_uncore driver",
            {}};
  if (choices.empty())
    return {quantity,
            kAbsent,
            "unknown event: libpfm4 has no name for it on this processor, or is not in this build",
            "build with a newer libpfm4",
            {}};
  for (CounterChoice& choice : choices)
    for (CounterEvent& event : choice.events)
      aim_at_kind(event, host_.kind_pmu);
  CounterVerdict found = find_open(quantity, std::move(choices));
  if (found.verdict == kOk)
    check(found);
  return found;
}

CounterVerdict Counters::find_open(CounterQuantity quantity, std::vector<CounterChoice> choices) {
  int first_error = 0;
  for (CounterChoice& choice : choices) {
    int error = 0;
    for (const CounterEvent& event : choice.events) {
      const int file = open_event(*system_, event, 0, -1);
      if (file >= 0)
        system_->close(file);
      else if (error == 0)
        error = -file;
    }
    if (error == 0)
      return {quantity, kOk, names_of(choice.events), "", std::move(choice.events)};
    first_error = first_error == 0 ? error : first_error;
  }
  const CounterRefusal refusal = refusal_of(first_error, host_);
  return {quantity, kAbsent, refusal.reason, refusal.fix, {}};
}

/// Known work first, then trust.
void Counters::check(CounterVerdict& found) {
  bool any = false;
  for (const CheckKernel& kernel : kernels_) {
    if (kernel.quantity != found.quantity)
      continue;
    any = true;
    std::optional<double> ratio;
    std::string fault;
    for (int tries = 0; tries < kCheckTries && !is_trusted(ratio); ++tries)
      ratio = check_ratio_of(found, kernel, fault);
    if (is_trusted(ratio))
      continue;
    if (!ratio) {
      found = {found.quantity, kAbsent, fault, "enable the virtual PMU of the hypervisor, or stop other profilers", {}};
      return;
    }
    found = {found.quantity,
             kLimited,
             fmt::format("untrusted: {} counts {:.4f} of the {:.0f} {}, outside 5 %; not used", found.reason, *ratio,
                         kernel.expected, kernel.what),
             "use the counted work of the model, which stands beside it",
             {}};
    return;
  }
  if (!any)
    found = {
        found.quantity,
        kLimited,
        fmt::format("untested: {} opens, but there is no loop of known work to test it by; not used", found.reason),
        "use the counted work of the model, which stands beside it",
        {}};
}

/// Event by event, so that nothing is multiplexed within a loop that ends sooner than the kernel switches events.
std::optional<double> Counters::check_ratio_of(const CounterVerdict& found, const CheckKernel& kernel,
                                               std::string& fault) {
  constexpr int kThisThread = 0;
  const auto prepare = [&] {
    if (kernel.prepare)
      kernel.prepare();
  };
  prepare();
  kernel.run();
  std::vector<WeightedCount> parts;
  for (const CounterEvent& event : found.events) {
    CounterFiles files(*system_, {{event}}, std::span(&kThisThread, 1));
    if (files.error() != 0) {
      fault = refusal_of(files.error(), host_).reason;
      return std::nullopt;
    }
    prepare();
    files.start();
    kernel.run();
    files.stop();
    const CountedInterval counted = files.read().front();
    if (!counted.count) {
      fault = fmt::format("{}: {}", event.name, counted.fault);
      return std::nullopt;
    }
    parts.push_back({counted.count, event.weight});
  }
  const std::optional<double> ratio = check_ratio(weighted_sum(parts), kernel.expected);
  if (!ratio)
    fault = kCountsNothing;
  return ratio;
}

void Counters::settle_groups() {
  std::vector<CounterEvent> hardware;
  for (const CounterVerdict& verdict : verdicts_) {
    if (!is_used_in_pass(verdict.quantity))
      continue;
    for (const CounterEvent& event : verdict.events) {
      if (event.processor >= 0)
        controllers_.push_back({event});
      else
        (is_software(verdict.quantity) ? software_ : hardware).push_back(event);
    }
  }
  // The kernel checks a group against all counters of the processor, even those that a watchdog holds for ever.
  for (std::size_t most = kMostInGroup; most > 0; --most) {
    groups_ = groups_that_fit(*system_, hardware, most);
    if (all_run(groups_))
      return;
  }
}

bool Counters::all_run(const std::vector<CounterGroup>& groups) {
  constexpr int kThisThread = 0;
  return std::all_of(groups.begin(), groups.end(), [&](const CounterGroup& group) {
    CounterFiles files(*system_, {group}, std::span(&kThisThread, 1));
    files.start();
    spin_briefly();
    files.stop();
    const auto counted = files.read();
    return files.error() == 0 && std::all_of(counted.begin(), counted.end(),
                                             [](const CountedInterval& one) { return one.count.has_value(); });
  });
}

CounterPass Counters::measure(const std::function<void()>& body, const std::function<void()>& prepare,
                              const CounterPassOptions& options, Clock& clock) {
  survey();
  CounterPass out;
  if (groups_.empty() && software_.empty()) {
    out.origin = absent_text({});
    return out;
  }
  if (prepare)
    prepare();
  const std::int64_t begin_ns = clock.now_ns();
  body(); // starts what threads are missing, which would not be counted
  const double run_s = std::max(seconds_between(begin_ns, clock.now_ns()), kShortestRunS);
  const std::size_t passes = std::max<std::size_t>(groups_.size(), 1);
  const double pass_s = std::min(options.min_time_s, options.most_s / static_cast<double>(passes));
  if (run_s * static_cast<double>(passes) > options.most_s) {
    std::map<CounterQuantity, std::string> faults;
    for (const CounterVerdict& verdict : verdicts_)
      if (verdict.verdict == kOk)
        faults.emplace(verdict.quantity, fmt::format("{} runs of {:.3g} s do not fit the {:.3g} s that are left for "
                                                     "counting; raise --timeout",
                                                     passes, run_s, options.most_s));
    out.origin = absent_text(faults);
    return out;
  }
  const auto runs = std::clamp<std::int64_t>(static_cast<std::int64_t>(pass_s / run_s), 1,
                                             std::max<std::int64_t>(options.most_runs, 1));
  Pass pass;
  for (std::size_t i = 0; i < passes; ++i) {
    std::vector<CounterGroup> groups;
    if (i < groups_.size())
      groups.push_back(groups_[i]);
    if (i == 0 && !software_.empty())
      groups.push_back(software_);
    if (i == 0)
      groups.insert(groups.end(), controllers_.begin(), controllers_.end());
    run_pass(groups, body, prepare, runs, clock, pass);
  }
  out.totals = totals_of(pass, runs);
  out.origin = origin_of(pass, runs, out.totals);
  return out;
}

void Counters::run_pass(const std::vector<CounterGroup>& groups, const std::function<void()>& body,
                        const std::function<void()>& prepare, std::int64_t runs, Clock& clock, Pass& pass) {
  std::vector<CounterEvent> events;
  for (const CounterGroup& group : groups)
    events.insert(events.end(), group.begin(), group.end());
  const auto fail_all = [&](const std::string& fault) {
    for (const CounterEvent& event : events)
      pass.faults.emplace(event.quantity, fault);
  };
  const std::vector<int> threads = system_->threads();
  CounterFiles files(*system_, groups, threads);
  if (files.error() != 0) {
    const CounterRefusal refusal = refusal_of(files.error(), host_);
    fail_all(refusal.reason + (refusal.fix.empty() ? "" : "; " + refusal.fix));
    return;
  }
  double time_s = 0;
  const std::int64_t runs_a_start = prepare ? 1 : runs;
  for (std::int64_t done = 0; done < runs; done += runs_a_start) {
    if (prepare)
      prepare();
    const std::int64_t begin_ns = clock.now_ns();
    files.start();
    for (std::int64_t i = 0; i < runs_a_start; ++i)
      body();
    files.stop();
    time_s += seconds_between(begin_ns, clock.now_ns());
  }
  ++pass.passes;
  pass.time_s += time_s / static_cast<double>(runs);
  const std::vector<CountedInterval> counted = files.read();
  const std::set<int> known(threads.begin(), threads.end());
  const std::vector<int> now = system_->threads();
  if (!std::all_of(now.begin(), now.end(), [&](int thread) { return known.contains(thread); })) {
    fail_all("threads started while it was counted, and are not in the count");
    return;
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    pass.parts[events[i].quantity].push_back({counted[i].count, events[i].weight});
    if (!counted[i].count)
      pass.faults.emplace(events[i].quantity, fmt::format("{}: {}", events[i].name, counted[i].fault));
    if (const auto coverage = counted[i].coverage())
      pass.coverage = std::min(pass.coverage.value_or(1.0), *coverage);
  }
}

/// What the controllers counted, else the misses of the last cache.
void Counters::set_dram_bytes(CounterTotals& totals, std::optional<std::int64_t> of_controllers) const {
  totals.dram_bytes = of_controllers ? of_controllers : bytes_of_misses(totals.llc_misses, host_.line_bytes);
  if (totals.dram_bytes)
    totals.dram_source = of_controllers ? "controllers" : "misses";
}

CounterTotals Counters::totals_of(const Pass& pass, std::int64_t runs) const {
  const auto sum = [&](CounterQuantity quantity) -> std::optional<double> {
    const auto found = pass.parts.find(quantity);
    if (found == pass.parts.end() || pass.faults.contains(quantity))
      return std::nullopt;
    return weighted_sum(found->second);
  };
  const auto mean = [&](CounterQuantity quantity, double unit) -> std::optional<double> {
    const auto total = sum(quantity);
    return total ? std::optional(*total * unit / static_cast<double>(runs)) : std::nullopt;
  };
  CounterTotals out;
  out.cycles = per_run(sum(CounterQuantity::kCycles), runs);
  out.instructions = per_run(sum(CounterQuantity::kInstructions), runs);
  const bool counts_nothing =
      sum(CounterQuantity::kCycles) == 0.0 || sum(CounterQuantity::kInstructions) == 0.0; // BUG-119
  if (counts_nothing) {
    out.cycles.reset();
    out.instructions.reset();
  } else {
    out.l1_misses = per_run(sum(CounterQuantity::kL1Misses), runs);
    out.l2_misses = per_run(sum(CounterQuantity::kL2Misses), runs);
    out.llc_misses = per_run(sum(CounterQuantity::kLlcMisses), runs);
    set_dram_bytes(out, per_run(sum(CounterQuantity::kDramTraffic), runs));
    out.fp_ops = per_run(sum(CounterQuantity::kFpOps), runs);
  }
  out.task_clock_s = mean(CounterQuantity::kTaskClock, 1e-9);
  out.cpu_migrations = mean(CounterQuantity::kMigrations, 1);
  out.counter_coverage = pass.coverage;
  if (pass.passes > 0) {
    out.counter_passes = pass.passes;
    out.counter_time_s = pass.time_s / static_cast<double>(pass.passes);
  }
  return out;
}

std::string Counters::origin_of(const Pass& pass, std::int64_t runs, const CounterTotals& totals) const {
  std::map<CounterQuantity, std::string> faults = pass.faults;
  std::vector<std::string> counted;
  const auto add = [&](CounterQuantity quantity, bool is_there, std::string_view otherwise) {
    const CounterVerdict& verdict = verdict_of(verdicts_, quantity);
    if (is_there)
      counted.push_back(verdict.reason == name_of(quantity)
                            ? verdict.reason
                            : fmt::format("{} ({})", name_of(quantity), verdict.reason));
    else if (verdict.verdict == kOk)
      faults.emplace(quantity, otherwise);
  };
  add(CounterQuantity::kCycles, totals.cycles.has_value(), kCountsNothing);
  add(CounterQuantity::kInstructions, totals.instructions.has_value(), kCountsNothing);
  const bool none = !totals.cycles && !totals.instructions;
  const std::string_view too_few = none ? kCountsNothing : "fewer than one a run";
  add(CounterQuantity::kL1Misses, totals.l1_misses.has_value(), too_few);
  add(CounterQuantity::kL2Misses, totals.l2_misses.has_value(), too_few);
  add(CounterQuantity::kLlcMisses, totals.llc_misses.has_value(), too_few);
  if (totals.dram_source == "controllers") // else what the misses say stands in its place
    add(CounterQuantity::kDramTraffic, true, {});
  add(CounterQuantity::kFpOps, totals.fp_ops.has_value(), too_few);
  add(CounterQuantity::kTaskClock, totals.task_clock_s.has_value(), "not counted");
  add(CounterQuantity::kMigrations, totals.cpu_migrations.has_value(), "not counted");
  std::string out;
  if (!counted.empty()) {
    out = fmt::format("counter: {} by perf_event_open in {} pass{} of {} runs", fmt::join(counted, ", "), pass.passes,
                      pass.passes == 1 ? "" : "es", runs);
    if (totals.counter_coverage.value_or(1.0) < 0.999)
      out += fmt::format(", scaled from {:.0f} % of the time", 100 * *totals.counter_coverage);
    if (totals.dram_source == "misses")
      out += fmt::format("; dram_bytes is llc_misses x {} B", host_.line_bytes);
    else if (totals.dram_bytes)
      out += "; dram_bytes is dram_traffic, of everything on the machine";
  }
  const std::string absent = absent_text(faults);
  return out.empty() || absent.empty() ? out + absent : out + "; " + absent;
}

/// "unavailable: cycles, instructions: reason; fix", figures with the same reason together.
std::string Counters::absent_text(const std::map<CounterQuantity, std::string>& faults) const {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> reasons;
  for (const CounterVerdict& verdict : verdicts_) {
    // Where memory controllers cannot be read, misses stand in for them; the doctor has the reason.
    if (!is_used_in_pass(verdict.quantity) || verdict.quantity == CounterQuantity::kDramTraffic)
      continue;
    std::string reason;
    if (const auto fault = faults.find(verdict.quantity); fault != faults.end())
      reason = fault->second;
    else if (verdict.verdict != kOk)
      reason = verdict.reason + (verdict.fix.empty() ? "" : "; " + verdict.fix);
    else
      continue;
    auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& entry) { return entry.first == reason; });
    if (same == reasons.end())
      same = reasons.insert(reasons.end(), {reason, {}});
    same->second.push_back(name_of(verdict.quantity));
  }
  std::vector<std::string> texts;
  for (const auto& [reason, names] : reasons)
    texts.push_back(fmt::format("{}: {}", fmt::join(names, ", "), reason));
  return texts.empty() ? std::string() : fmt::format("unavailable: {}", fmt::join(texts, "; "));
}

std::string Counters::summary() {
  survey();
  std::vector<std::string_view> counted;
  for (const CounterVerdict& verdict : verdicts_)
    if (verdict.verdict == kOk && is_used_in_pass(verdict.quantity))
      counted.push_back(name_of(verdict.quantity));
  const std::string absent = absent_text({});
  const std::string there = counted.empty() ? "" : fmt::format("counter: {}", fmt::join(counted, ", "));
  return there.empty() || absent.empty() ? there + absent : there + "; " + absent;
}

} // namespace attnprof::profilers
