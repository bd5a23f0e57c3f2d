// What was measured, and how it stands to the roofs.
#include "profilers/perf/counter_maths.hpp"
#include "reports/columns.hpp"
#include "reports/format.hpp"

#include <fmt/format.h>

namespace attnprof::reports {

using profilers::Measurement;
using profilers::Record;

Items items_of(const Record& record) {
  const auto* batch = std::get_if<std::int64_t>(&record.config.get("batch"));
  const auto* seq_len = std::get_if<std::int64_t>(&record.config.get("seq_len"));
  // A network without a token count takes images.
  if (record.config.has("grid") || (record.config.has("model") && seq_len == nullptr)) {
    return {"image", batch != nullptr ? std::optional<double>(static_cast<double>(*batch)) : std::nullopt};
  }
  if (batch == nullptr || seq_len == nullptr) {
    return {"token", {}};
  }
  return {"token", static_cast<double>(*batch) * static_cast<double>(*seq_len)};
}

std::string item_rate_text(const Items& items, std::optional<double> time_s) {
  const auto per_s = ratio(items.count, time_s);
  return per_s ? fmt::format("{} {}s/s", si(per_s, ""), items.item) : std::string(kAbsentText);
}

std::string interval_text(const Measurement& measured) {
  if (!measured.time_ci_low_s || !measured.time_ci_high_s) {
    return std::string(kAbsentText);
  }
  const auto width = ratio((*measured.time_ci_high_s - *measured.time_ci_low_s) / 2.0, measured.time_median_s);
  return width && *width > 1.0 ? ">100 %" : percent(width);
}

namespace {

template <class F>
CaseColumn measured(std::string name, std::string unit, Type type, Origin origin, std::string definition,
                    std::string formula, F get) {
  return {{std::move(name), std::move(unit), Group::kMeasured, type, origin, std::move(definition), std::move(formula)},
          [get](const Record& r) { return r.measured ? get(*r.measured) : Cell(); }};
}

std::optional<double> median_time_of(const Record& record) {
  return record.measured ? record.measured->time_median_s : std::optional<double>();
}

std::vector<CaseColumn> time_columns() {
  const auto real = Type::kReal;
  const auto timer = Origin::kTimer;
  return {
      measured("time_median_s", "s", real, timer, "Median time of one run of the case over all samples.", "",
               [](const Measurement& m) { return cell(m.time_median_s); }),
      measured("time_min_s", "s", real, timer, "Least time of one run.", "",
               [](const Measurement& m) { return cell(m.time_min_s); }),
      measured("time_ci_low_s", "s", real, timer, "Lower end of the median's 95 % interval (block bootstrap).", "",
               [](const Measurement& m) { return cell(m.time_ci_low_s); }),
      measured("time_ci_high_s", "s", real, timer, "Upper end of the median's 95 % interval (block bootstrap).", "",
               [](const Measurement& m) { return cell(m.time_ci_high_s); }),
      measured("time_mad_s", "s", real, timer, "Median absolute deviation of the samples from their median, unscaled.",
               "", [](const Measurement& m) { return cell(m.time_mad_s); }),
      measured("samples", "1", Type::kInteger, timer, "Number of samples; all of them count.", "",
               [](const Measurement& m) { return Cell(static_cast<std::int64_t>(m.samples_s.size())); }),
      measured("stop_reason", "", Type::kText, Origin::kRequest, "Why sampling ended.", "",
               [](const Measurement& m) { return Cell(std::string(name_of(m.stop_reason))); }),
      measured("stability", "", Type::kText, Origin::kDerived,
               "STABLE, NOISY, DRIFT, THROTTLED or TOO_SHORT; absent where samples are too few for a verdict.", "",
               [](const Measurement& m) { return m.stability ? Cell(std::string(name_of(*m.stability))) : Cell(); }),
      measured("stability_reason", "", Type::kText, Origin::kDerived, "Evidence for the stability verdict.", "",
               [](const Measurement& m) { return cell(m.stability_reason); }),
      measured("timer", "", Type::kText, Origin::kTimer, "Clock that took the samples.", "",
               [](const Measurement& m) { return cell(m.timer); }),
      measured("timer_resolution_s", "s", real, timer, "Least step of that clock.", "",
               [](const Measurement& m) { return cell(m.timer_resolution_s); }),
      measured("iterations_per_sample", "1", Type::kInteger, timer, "Runs of the case within one sample.", "",
               [](const Measurement& m) { return Cell(m.iterations_per_sample); }),
      measured("warmup_runs", "1", Type::kInteger, timer, "Runs of the case before the first sample.", "",
               [](const Measurement& m) { return Cell(m.warmup_runs); }),
  };
}

CaseColumn rate(std::string name, std::string unit, std::string definition, std::string formula,
                std::function<std::optional<double>(const Record&)> amount) {
  return {{std::move(name), std::move(unit), Group::kMeasured, Type::kReal, Origin::kDerived, std::move(definition),
           std::move(formula)},
          [amount](const Record& r) { return cell(ratio(amount(r), median_time_of(r))); }};
}

std::vector<CaseColumn> rate_columns() {
  return {
      rate("flops_per_s", "FLOP/s", "Counted FLOPs over the median time.", "flops / time_median_s",
           [](const Record& r) { return r.totals ? real(r.totals->work.flops()) : std::optional<double>(); }),
      rate("bytes_per_s", "B/s", "Counted bytes over the median time.", "bytes / time_median_s",
           [](const Record& r) {
             return r.totals ? real(r.totals->bytes_read + r.totals->bytes_written) : std::optional<double>();
           }),
      rate("items_per_s", "1/s", "Items over the median time.",
           "batch / time_median_s for images, batch * seq_len / time_median_s for tokens",
           [](const Record& r) { return items_of(r).count; }),
      {{"item", "", Group::kMeasured, Type::kText, Origin::kRequest,
        "What items_per_s counts: image where the case has a grid, else token.", ""},
       [](const Record& r) { return r.measured ? Cell(items_of(r).item) : Cell(); }},
  };
}

std::optional<double> measured_bytes_ratio(const Record& record) {
  const bool has_writes = record.measured && record.measured->counters.dram_source == "controllers";
  const auto fills =
      modelled(record, has_writes ? &profilers::LevelTraffic::dram_bytes : &profilers::LevelTraffic::dram_fill_bytes);
  if (!fills || !record.measured || !record.measured->counters.dram_bytes) {
    return {};
  }
  return ratio(static_cast<double>(*record.measured->counters.dram_bytes), static_cast<double>(*fills));
}

/// Of the processor, not of the model.
std::optional<double> processor_flops(const Record& record) {
  if (!record.measured || record.measured->counters.fp_ops_are_counted || !record.measured->counters.fp_ops) {
    return {};
  }
  return static_cast<double>(*record.measured->counters.fp_ops);
}

std::optional<double> useful_share(const Record& record) {
  if (!record.totals) {
    return {};
  }
  const operators::Work& work = record.totals->work;
  return ratio(real(operators::Count(2) * work.useful_macs + work.vector_flops), processor_flops(record));
}

std::optional<double> energy_per_item_j(const Record& record) {
  if (!record.measured || !record.measured->counters.package_energy_j) {
    return {};
  }
  const profilers::CounterTotals& counters = record.measured->counters;
  return ratio(*counters.package_energy_j + counters.dram_energy_j.value_or(0.0), items_of(record).count);
}

std::vector<CaseColumn> counter_columns() {
  const auto counter = Origin::kCounter;
  const auto whole = Type::kInteger;
  return {
      measured("cpu_clock_hz", "Hz", Type::kReal, Origin::kTimer,
               "Median clock of the core before the samples, from a chain of one-cycle operations.", "",
               [](const Measurement& m) { return cell(m.cpu_clock_hz); }),
      measured(
          "probe_ops_per_cycle", "1", Type::kReal, Origin::kTimer,
          "Not of the case: independent one-cycle operations that the core which starts the work issued in a cycle of "
          "a probe beside the samples, median: 4, or as many as it has integer units; half of that while another "
          "hardware thread uses the core.",
          "", [](const Measurement& m) { return cell(m.issue_rate); }),
      measured("cycles", "1", whole, counter, "Core cycles of one run, all threads, user space.", "",
               [](const Measurement& m) { return cell(m.counters.cycles); }),
      measured("instructions", "1", whole, counter, "Instructions retired in one run, all threads, user space.", "",
               [](const Measurement& m) { return cell(m.counters.instructions); }),
      measured("instructions_per_cycle", "1", Type::kReal, Origin::kDerived, "Instructions a core cycle.",
               "instructions / cycles",
               [](const Measurement& m) {
                 return cell(profilers::instructions_per_cycle(m.counters.instructions, m.counters.cycles));
               }),
      measured("l1_misses", "1", whole, counter, "Misses of the first-level data cache in one run.", "",
               [](const Measurement& m) { return cell(m.counters.l1_misses); }),
      measured("l2_misses", "1", whole, counter, "Data misses of the second cache level in one run.", "",
               [](const Measurement& m) { return cell(m.counters.l2_misses); }),
      measured("llc_misses", "1", whole, counter, "Misses of the last-level cache in one run.", "",
               [](const Measurement& m) { return cell(m.counters.llc_misses); }),
      measured("dram_bytes", "B", whole, counter,
               "Bytes from memory in one run, and to it where dram_source is controllers, as on a GPU.",
               "llc_misses * bytes of a line, unless dram_source is controllers",
               [](const Measurement& m) { return cell(m.counters.dram_bytes); }),
      measured(
          "dram_source", "", Type::kText, Origin::kRequest,
          "What dram_bytes is: controllers (reads and writes of everything on the machine), misses (of the last cache "
          "level times the line: no write-backs, no non-temporal stores), simulated (the same of valgrind).",
          "", [](const Measurement& m) { return cell(m.counters.dram_source); }),
      {{"measured_bytes_ratio", "1", Group::kMeasured, Type::kReal, Origin::kDerived,
        "Bytes from memory over those of the cache model, with what is written where the former has it.",
        "dram_bytes / modelled_dram_fill_bytes, or / modelled_dram_bytes"},
       [](const Record& r) { return cell(measured_bytes_ratio(r)); }},
      measured(
          "fp_ops", "FLOP", whole, counter,
          "Floating-point operations that the processor counted in one run; where it counts none, those counted in "
          "closed form, as counter_origin then says.",
          "", [](const Measurement& m) { return cell(m.counters.fp_ops); }),
      measured("fp_ops_origin", "", Type::kText, Origin::kRequest,
               "counter: the processor's; counted: in closed form, since it counts none.", "",
               [](const Measurement& m) {
                 return m.counters.fp_ops ? Cell(std::string(m.counters.fp_ops_are_counted ? "counted" : "counter"))
                                          : Cell();
               }),
      {{"executed_flops_per_s", "FLOP/s", Group::kMeasured, Type::kReal, Origin::kDerived,
        "FLOPs that the processor counted over the median time.", "fp_ops / time_median_s"},
       [](const Record& r) { return cell(ratio(processor_flops(r), median_time_of(r))); }},
      {{"useful_share", "1", Group::kMeasured, Type::kReal, Origin::kDerived,
        "Useful FLOPs, without masked pairs and padding, over those that the processor counted.",
        "(2 * useful_macs + vector_flops) / fp_ops"},
       [](const Record& r) { return cell(useful_share(r)); }},
      measured("task_clock_s", "s", Type::kReal, counter, "Processor time of one run, all threads, counters open.", "",
               [](const Measurement& m) { return cell(m.counters.task_clock_s); }),
      measured("cpu_migrations", "1", Type::kReal, counter,
               "Moves of threads between processors, mean of the counted "
               "runs.",
               "", [](const Measurement& m) { return cell(m.counters.cpu_migrations); }),
      measured("counter_coverage", "1", Type::kReal, counter,
               "Least share of the time in which an event was counted; below 1 its count is scaled up.",
               "running / enabled time", [](const Measurement& m) { return cell(m.counters.counter_coverage); }),
      measured("counter_passes", "1", whole, counter, "Passes over the case that the counters took, after its samples.",
               "", [](const Measurement& m) { return cell(m.counters.counter_passes); }),
      measured("counter_time_s", "s", Type::kReal, Origin::kTimer,
               "Mean time of one run with the counters open; no rate is made from it.", "",
               [](const Measurement& m) { return cell(m.counters.counter_time_s); }),
      measured("page_faults", "1", whole, counter, "Page faults of the process over all samples.", "",
               [](const Measurement& m) { return cell(m.page_faults); }),
      measured("context_switches", "1", whole, counter, "Context switches of the process over all samples.", "",
               [](const Measurement& m) { return cell(m.context_switches); }),
      measured("steal_s", "s", Type::kReal, counter,
               "Time over all samples in which the hypervisor ran others on this machine's processors.", "",
               [](const Measurement& m) { return cell(m.steal_s); }),
      measured("package_energy_j", "J", Type::kReal, counter,
               "Energy of the processor packages in one run, everything else that ran on them included.", "",
               [](const Measurement& m) { return cell(m.counters.package_energy_j); }),
      measured("dram_energy_j", "J", Type::kReal, counter, "Energy of the memory in one run.", "",
               [](const Measurement& m) { return cell(m.counters.dram_energy_j); }),
      {{"energy_per_item_j", "J", Group::kMeasured, Type::kReal, Origin::kDerived,
        "Energy of packages and memory for one image or token.", "(package_energy_j + dram_energy_j) / items"},
       [](const Record& r) { return cell(energy_per_item_j(r)); }},
      {{"energy_origin", "", Group::kMeasured, Type::kText, Origin::kCounter,
        "Where the energy columns come from, or why they are empty.", ""},
       [](const Record& r) { return cell(r.energy_origin); }},
      {{"counter_origin", "", Group::kMeasured, Type::kText, Origin::kCounter,
        "Where the counter columns come from, or why they are empty.", ""},
       [](const Record& r) { return cell(r.counter_origin); }},
      {{"kernel_impl", "", Group::kMeasured, Type::kText, Origin::kRequest,
        "Implementations that ran, the one with most time first.", ""},
       [](const Record& r) { return cell(r.kernel_impl); }},
      {{"threads", "1", Group::kMeasured, Type::kInteger, Origin::kRequest,
        "Threads used; what was asked for stands in the JSON config.", ""},
       [](const Record& r) { return r.threads > 0 ? Cell(static_cast<std::int64_t>(r.threads)) : Cell(); }},
      {{"processors", "", Group::kMeasured, Type::kText, Origin::kRequest,
        "Logical processors that the threads were bound to, thread by thread; absent where they were free to move.",
        ""},
       [](const Record& r) { return cell(r.processors); }},
      measured("cache_policy", "", Type::kText, Origin::kRequest,
               "What lay in the caches when a sample began: warm, cold, cold-weights or cold-kv.", "",
               [](const Measurement& m) { return Cell(std::string(name_of(m.cache_policy))); }),
  };
}

} // namespace

std::vector<CaseColumn> measured_columns() {
  std::vector<CaseColumn> out;
  for (auto part : {time_columns(), rate_columns(), counter_columns(), device_columns()}) {
    std::move(part.begin(), part.end(), std::back_inserter(out));
  }
  return out;
}

std::vector<CaseColumn> roof_columns() {
  const auto roof = [](std::string name, std::string unit, Type type, std::string definition, std::string formula,
                       std::function<Cell(const Record&)> get) {
    return CaseColumn{{std::move(name), std::move(unit), Group::kRoof, type, Origin::kDerived, std::move(definition),
                       std::move(formula)},
                      std::move(get)};
  };
  return {
      roof("roof_time_s", "s", Type::kReal,
           "Least time by the ceilings: in each launch the resources overlap perfectly, launches follow one another.",
           "sum over launches of max(matrix, vector, transcendental, memory time)",
           [](const Record& r) { return cell(r.roof.roof_time_s); }),
      roof("attainable_flops_per_s", "FLOP/s", Type::kReal,
           "FLOP rate that the ceilings allow for this mix of launches.", "flops / roof_time_s",
           [](const Record& r) { return cell(r.roof.attainable_flops_per_s); }),
      roof("roof_fraction", "1", Type::kReal, "How near the case comes to its roof; above 1.05 a warning says why.",
           "roof_time_s / time_median_s", [](const Record& r) { return cell(r.roof.roof_fraction); }),
      roof("bound", "", Type::kText,
           "What bounds the launches that take the most time: compute, vector, transcendental, memory or overhead; "
           "unexplained where no roof does, that is where less than a tenth of it is reached.",
           "", [](const Record& r) { return cell(r.roof.bound); }),
      roof("bound_margin", "1", Type::kReal,
           "Share of the time under the deciding bound over that of the next one; below 1.2 the bound is ambiguous.",
           "", [](const Record& r) { return cell(r.roof.bound_margin); }),
      roof("roof_level", "", Type::kText, "Memory level on which the launches spend the most memory time.", "",
           [](const Record& r) { return cell(r.roof.roof_level); }),
      roof("roof_traffic", "", Type::kText,
           "Kind of traffic whose bandwidth is the memory roof there: read, write, copy or triad, with _nt for "
           "non-temporal stores.",
           "", [](const Record& r) { return cell(r.roof.roof_traffic); }),
      roof("implausible", "", Type::kText,
           "Why the case's own time or counts cannot be right, with the likely cause; absent where they can.", "",
           [](const Record& r) { return cell(r.roof.implausible); }),
      roof("memory_bound_time_share", "1", Type::kReal, "Share of the launch time in launches bound by memory.",
           "from the per-launch pass", [](const Record& r) { return cell(r.memory_bound_time_share); }),
      roof("attention_time_share", "1", Type::kReal,
           "Share of the launch time inside the attention mixer (all of it where the layout is op).",
           "from the per-launch pass", [](const Record& r) { return cell(r.attention_time_share); }),
  };
}

} // namespace attnprof::reports
