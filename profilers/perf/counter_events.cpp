#include "profilers/perf/counter_events.hpp"

#include <linux/perf_event.h>

namespace attnprof::profilers {
namespace {

// No processor has a clock above 10 GHz, retires more than 16 instructions a cycle, or executes more than 4 vector
// operations a cycle; a wrong reading is larger by orders of magnitude.
constexpr double kMostCyclesPerNs = 10;
constexpr double kMostInstructionsPerNs = 160;
constexpr double kMostFpPerNs = 10'000;
constexpr double kMostMissesPerNs = 100;
constexpr double kMostSoftwarePerNs = 2; // the task clock counts nanoseconds

struct NamedEvent {
  const char* name;
  double weight;
};

constexpr std::array kIntelFp{
    NamedEvent{"FP_ARITH_INST_RETIRED:SCALAR_SINGLE", 1},
    NamedEvent{"FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", 1},
    NamedEvent{"FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", 4},
    NamedEvent{"FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", 2},
    NamedEvent{"FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", 8},
    NamedEvent{"FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", 4},
    NamedEvent{"FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE", 16},
    NamedEvent{"FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", 8},
};
constexpr std::array kAmdFp{NamedEvent{"RETIRED_SSE_AVX_FLOPS:ANY", 1}};

// Of AMD's cores the fills from memory; the generic event of the kernel counts misses of the second level there.
constexpr std::array kLlcMissNames{
    "LONGEST_LAT_CACHE:MISS",
    "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR",
    "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT",
    "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM",
};

CounterEvent generic(CounterQuantity quantity, std::string name, std::uint32_t type, std::uint64_t config,
                     double most_per_ns) {
  return {quantity, std::move(name), {type, config, 0, 0}, 1, most_per_ns, true};
}

/// Those of the table that this processor knows: narrower ones lack the widest vectors.
template <std::size_t N>
void add_named(std::vector<CounterChoice>& out, const std::array<NamedEvent, N>& table, PerfSystem& system) {
  CounterChoice choice;
  for (const NamedEvent& named : table)
    if (const auto encoded = system.encode(named.name))
      choice.events.push_back({CounterQuantity::kFpOps, encoded->full_name, encoded->code, named.weight,
                               kMostFpPerNs / named.weight, true});
  if (!choice.events.empty())
    out.push_back(std::move(choice));
}

std::vector<CounterChoice> miss_choices(PerfSystem& system) {
  std::vector<CounterChoice> out;
  for (const char* name : kLlcMissNames)
    if (const auto encoded = system.encode(name))
      out.push_back({{{CounterQuantity::kLlcMisses, encoded->full_name, encoded->code, 1, kMostMissesPerNs, true}}});
  constexpr std::uint64_t kLastLevelReadMisses =
      PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8U | PERF_COUNT_HW_CACHE_RESULT_MISS << 16U;
  out.push_back({{generic(CounterQuantity::kLlcMisses, "LLC-load-misses", PERF_TYPE_HW_CACHE, kLastLevelReadMisses,
                          kMostMissesPerNs)}});
  return out;
}

} // namespace

std::string_view name_of(CounterQuantity quantity) {
  switch (quantity) {
  case CounterQuantity::kCycles: return "cycles";
  case CounterQuantity::kInstructions: return "instructions";
  case CounterQuantity::kLlcMisses: return "llc_misses";
  case CounterQuantity::kFpOps: return "fp_ops";
  case CounterQuantity::kTaskClock: return "task_clock_s";
  case CounterQuantity::kMigrations: return "cpu_migrations";
  case CounterQuantity::kPageFaults: return "page_faults";
  case CounterQuantity::kContextSwitches: return "context_switches";
  }
  return "";
}

bool is_software(CounterQuantity quantity) {
  return quantity >= CounterQuantity::kTaskClock;
}

std::vector<CounterChoice> hardware_choices(CounterQuantity quantity, PerfSystem& system) {
  std::vector<CounterChoice> out;
  switch (quantity) {
  case CounterQuantity::kCycles:
    return {{{generic(quantity, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, kMostCyclesPerNs)}}};
  case CounterQuantity::kInstructions:
    return {
        {{generic(quantity, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, kMostInstructionsPerNs)}}};
  case CounterQuantity::kLlcMisses: return miss_choices(system);
  case CounterQuantity::kFpOps:
    add_named(out, kIntelFp, system);
    add_named(out, kAmdFp, system);
    return out;
  default: return out;
  }
}

std::vector<CounterChoice> software_choices(CounterQuantity quantity) {
  const auto choice = [&](std::uint64_t config, bool exclude_kernel) {
    CounterEvent event =
        generic(quantity, std::string(name_of(quantity)), PERF_TYPE_SOFTWARE, config, kMostSoftwarePerNs);
    event.exclude_kernel = exclude_kernel;
    return CounterChoice{{event}};
  };
  switch (quantity) {
  case CounterQuantity::kTaskClock:
    return {choice(PERF_COUNT_SW_TASK_CLOCK, false), choice(PERF_COUNT_SW_TASK_CLOCK, true)};
  case CounterQuantity::kPageFaults:
    return {choice(PERF_COUNT_SW_PAGE_FAULTS, false), choice(PERF_COUNT_SW_PAGE_FAULTS, true)};
  // Both happen inside the kernel: without its part they would always be 0.
  case CounterQuantity::kMigrations: return {choice(PERF_COUNT_SW_CPU_MIGRATIONS, false)};
  case CounterQuantity::kContextSwitches: return {choice(PERF_COUNT_SW_CONTEXT_SWITCHES, false)};
  default: return {};
  }
}

} // namespace attnprof::profilers
