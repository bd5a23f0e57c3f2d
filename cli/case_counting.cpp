// What a case counts, without running it, and what counters and models say of it after everything that is timed.
#include "cli/case_runner.hpp"
#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "profilers/cache_model.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using operators::Graph;
using profilers::Record;
using profilers::Status;

/// Of a counter pass where only the kernel counts: less than a processor's counters are worth.
constexpr double kSoftwareCountingS = 0.01;
/// Of the runs whose energy is read: a hundred updates of the totals.
constexpr double kEnergyS = 0.1;
/// A case under valgrind, its set-up included, may take this multiple of the timeout.
constexpr double kSimulationSlowdown = 60;

void require_possible(const PlannedCase& planned) {
  if (!planned.rejection.empty()) {
    throw Error(ErrorKind::kInvalid, planned.rejection);
  }
}

Graph launches_of(const PlannedCase& planned) {
  require_possible(planned);
  return operators::plan_launches(operators::build(planned.config), planned.config.text("plan"));
}

/// An id in front of its plan and behind it: what names the list of ops that both plans are made from.
std::pair<std::string_view, std::string_view> around_plan(std::string_view id) {
  const std::size_t begin = std::min(id.find(":plan="), id.size());
  return {id.substr(0, begin), id.substr(std::min(id.find(':', begin + 1), id.size()))};
}

} // namespace

operators::Totals TotalsCounter::count(const PlannedCase& planned) {
  require_possible(planned);
  const auto [front, back] = around_plan(planned.id);
  if (built_.empty() || built_.size() != front.size() + back.size() || !built_.starts_with(front) ||
      !built_.ends_with(back)) {
    built_.clear(); // after an exception there is no list
    graph_ = operators::build(planned.config, std::move(graph_), operators::Detail::kCounted);
    built_.append(front).append(back);
  }
  const std::string& plan = planned.config.text("plan");
  if (plan != "eager") {
    built_.clear();
    graph_ = operators::plan_launches(std::move(graph_), plan);
  }
  return operators::totals_of(graph_);
}

CostedCase cost_case(const PlannedCase& planned) {
  CostedCase out;
  out.launches = launches_of(planned);
  out.record.id = planned.id;
  out.record.config = planned.config;
  operators::Cost cost = operators::cost_of(out.launches);
  out.record.totals = cost.totals;
  for (operators::LaunchCost& launch : cost.launches) {
    out.record.launches.push_back({std::move(launch), {}, {}});
  }
  return out;
}

Record rejected_record(const PlannedCase& planned, Status status, std::string reason) {
  Record out;
  out.id = planned.id;
  out.config = planned.config;
  out.status = status;
  out.reason = std::move(reason);
  return out;
}

void add_modelled_traffic(Record& record, const Graph& launches, const profilers::Environment& environment,
                          profilers::CachePolicy policy) {
  if (device_of(record.config) != "cpu") {
    return;
  }
  const auto threads = static_cast<int>(record.config.integer_or("threads", environment.cores));
  const std::vector<profilers::LevelTraffic> traffic =
      profilers::level_traffic(launches, profilers::cache_levels(environment.caches, threads), policy);
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    record.launches[i].traffic = traffic.at(i);
  }
}

bool CaseRunner::counts(const Record& record) const {
  const bool wanted = measuring_.counters == CounterUse::kAuto || measuring_.counters == CounterUse::kRequired;
  return wanted && seams_.counters && record.measured && device_of(record.config) == "cpu" &&
         !seams_.interrupt->requested;
}

/// After everything that is timed: open counters cost time, and the switch between groups of them more (BUG-133).
void CaseRunner::count(PreparedCase& prepared, double most_s) {
  profilers::Counters& counters = seams_.counters();
  profilers::CounterPassOptions options;
  options.most_s = most_s;
  if (!counters.has_pmu()) {
    options.min_time_s = kSoftwareCountingS;
  }
  const std::function<void()> prepare =
      prepared.cache.is_cold() ? std::function<void()>([&] { prepared.cache.prepare(); }) : nullptr;
  profilers::CounterPass pass = counters.measure([&] { prepared.program->run(); }, prepare, options, *seams_.clock);
  prepared.record.measured->counters = pass.totals;
  prepared.record.counter_origin = std::move(pass.origin);
}

/// In a process of its own, so that this one need not run under valgrind.
void CaseRunner::simulate(PreparedCase& prepared) {
  Record& record = prepared.record;
  const profilers::SimulatedCaches caches =
      profilers::simulated_caches(profilers::cache_levels(seams_.environment().caches, 1));
  operators::Config config = record.config;
  config.set("threads", std::int64_t{1}); // valgrind runs one thread at a time anyway
  const profilers::Simulation found = seams_.simulate(operators::case_id(config), measuring_.seed, caches,
                                                      kSimulationSlowdown * measuring_.timing.timeout_s);
  if (!found.fault.empty() || found.launches.size() != record.launches.size()) {
    record.counter_origin =
        fmt::format("unavailable: valgrind: {}", found.fault.empty() ? "launches are missing" : found.fault);
    return;
  }
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    record.launches[i].simulated = found.launches[i];
  }
  const profilers::SimulatedCounts whole = profilers::total_of(found.launches);
  profilers::CounterTotals& totals = record.measured->counters;
  totals.instructions = whole.instructions;
  totals.l1_misses = whole.l1_misses;
  totals.llc_misses = whole.llc_misses;
  totals.dram_bytes = whole.dram_bytes;
  totals.dram_source = "simulated";
  record.counter_origin = profilers::simulation_text(caches);
}

/// What no counter gives comes from the model and from counting, and the row says which.
void CaseRunner::add_model(PreparedCase& prepared) const {
  Record& record = prepared.record;
  if (!record.measured || device_of(record.config) != "cpu" || measuring_.counters == CounterUse::kOff) {
    return;
  }
  const auto levels = profilers::cache_levels(seams_.environment().caches, record.threads);
  if (!levels.empty()) {
    record.counter_origin +=
        fmt::format("; model: modelled_* by least recent use in caches of {}", profilers::text_of(levels));
  }
  std::optional<std::int64_t>& fp_ops = record.measured->counters.fp_ops;
  if (!fp_ops && record.totals) {
    fp_ops = record.totals->work.flops().value();
    record.measured->counters.fp_ops_are_counted = true;
    record.counter_origin += "; counted: fp_ops in closed form from the launches";
  }
}

void CaseRunner::add_energy(PreparedCase& prepared) {
  Record& record = prepared.record;
  if (!record.measured || !record.measured->time_median_s || device_of(record.config) != "cpu") {
    return;
  }
  const double run_s = *record.measured->time_median_s;
  if (measuring_.counters == CounterUse::kOff) {
    record.energy_origin = "off: --counters off";
  } else if (seams_.energy == nullptr) {
    record.energy_origin = "unavailable: this program reads none";
  } else if (prepared.cache.is_cold()) {
    record.energy_origin = "unavailable: evicting the caches between runs would be counted with them; use --cache warm";
  } else if (run_s > measuring_.timing.timeout_s) {
    record.energy_origin = "unavailable: one run takes longer than the timeout; raise --timeout";
  } else {
    const profilers::RunEnergy energy = profilers::measure_energy(
        *seams_.energy, [&] { prepared.program->run(); }, run_s, kEnergyS, *seams_.clock);
    record.measured->counters.package_energy_j = energy.package_j;
    record.measured->counters.dram_energy_j = energy.dram_j;
    record.energy_origin = energy.origin;
  }
}

} // namespace attnprof::cli
