#include "profilers/perf/counter_events.hpp"

#include "profilers/perf/memory_controllers.hpp"

#include <algorithm>
#include <linux/perf_event.h>
#include <vector>

namespace attnprof::profilers {
namespace {

// No processor has a clock above 10 GHz, retires more than 16 instructions a cycle, or executes more than 4 vector
// operations a cycle; a wrong reading is larger by orders of magnitude.
constexpr double kMostCyclesPerNs = 10;
constexpr double kMostInstructionsPerNs = 160;
constexpr double kMostFpPerNs = 10'000;
constexpr double kMostMissesPerNs = 100;
constexpr double kMostLinesPerNs = 100;  // of one controller
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
std::array<NamedEvent, 2> arm_fp(int vector_bits) {
  return {NamedEvent{"FP_FIXED_OPS_SPEC", 1}, NamedEvent{"FP_SCALE_OPS_SPEC", std::max(1.0, vector_bits / 128.0)}};
}

/// Events that are counted together, the best first.
using Names = std::vector<const char*>;

// Of AMD's cores the fills from memory; the generic event of the kernel counts misses of the second level there.
const std::vector<Names>& llc_miss_names() {
  static const std::vector<Names> kNames{
      {"LONGEST_LAT_CACHE:MISS"},
      {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR"},
      {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT"},
      {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM"},
  };
  return kNames;
}

// Lines that come into the first level, whoever asked for them.
const std::vector<Names>& l1_miss_names() {
  static const std::vector<Names> kNames{
      {"L1D:REPLACEMENT"},
      {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:FAR_CACHE_NEAR_FAR:DRAM_IO_"
       "FAR:"
       "ALT_MEM_NEAR_FAR"},
      {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:INT_CACHE:EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT"},
      {"L1D_CACHE_REFILL"},
  };
  return kNames;
}

// The same for the second level; AMD counts loads and prefetches apart.
const std::vector<Names>& l2_miss_names() {
  static const std::vector<Names> kNames{
      {"L2_LINES_IN:ALL"},
      {"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
       "L2_PREFETCH_HIT_L3:L2_STREAM:L2_NEXT_LINE:L2_UP_DOWN:L2_BURST:L2_STRIDE:L1_STREAM:L1_STRIDE:L1_REGION",
       "L2_PREFETCH_MISS_L3:L2_STREAM:L2_NEXT_LINE:L2_UP_DOWN:L2_BURST:L2_STRIDE:L1_STREAM:L1_STRIDE:L1_REGION"},
      {"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C", "L2_PREFETCH_HIT_L3:L2_HW_PREFETCHER:L1_HW_PREFETCHER",
       "L2_PREFETCH_MISS_L3:L2_HW_PREFETCHER:L1_HW_PREFETCHER"},
      {"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C", "L2_PREFETCH_HIT_L3:ANY", "L2_PREFETCH_MISS_L3:ANY"},
      {"L2D_CACHE_REFILL"},
  };
  return kNames;
}

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

/// Choices of which the processor knows every event.
std::vector<CounterChoice> known_choices(CounterQuantity quantity, const std::vector<Names>& lists,
                                         PerfSystem& system) {
  std::vector<CounterChoice> out;
  for (const Names& names : lists) {
    CounterChoice choice;
    for (const char* name : names)
      if (const auto encoded = system.encode(name))
        choice.events.push_back({quantity, encoded->full_name, encoded->code, 1, kMostMissesPerNs, true});
    if (choice.events.size() == names.size())
      out.push_back(std::move(choice));
  }
  return out;
}

/// All controllers together.
std::vector<CounterChoice> controller_choices(PerfSystem& system) {
  CounterChoice choice;
  for (const ControllerEvent& one : system.memory_controllers())
    choice.events.push_back(
        {CounterQuantity::kDramTraffic, one.name, one.code, one.bytes, kMostLinesPerNs, false, one.processor});
  return choice.events.empty() ? std::vector<CounterChoice>() : std::vector{std::move(choice)};
}

/// Read misses as the kernel names them; `cache` is one of PERF_COUNT_HW_CACHE_.
CounterChoice generic_misses(CounterQuantity quantity, const char* name, std::uint64_t cache) {
  constexpr std::uint64_t kReadMisses = PERF_COUNT_HW_CACHE_OP_READ << 8U | PERF_COUNT_HW_CACHE_RESULT_MISS << 16U;
  return {{generic(quantity, name, PERF_TYPE_HW_CACHE, cache | kReadMisses, kMostMissesPerNs)}};
}

} // namespace

std::string_view name_of(CounterQuantity quantity) {
  switch (quantity) {
  case CounterQuantity::kCycles: return "cycles";
  case CounterQuantity::kInstructions: return "instructions";
  case CounterQuantity::kL1Misses: return "l1_misses";
  case CounterQuantity::kL2Misses: return "l2_misses";
  case CounterQuantity::kLlcMisses: return "llc_misses";
  case CounterQuantity::kDramTraffic: return "dram_traffic";
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
  case CounterQuantity::kL1Misses:
    out = known_choices(quantity, l1_miss_names(), system);
    out.push_back(generic_misses(quantity, "L1-dcache-load-misses", PERF_COUNT_HW_CACHE_L1D));
    return out;
  case CounterQuantity::kL2Misses: return known_choices(quantity, l2_miss_names(), system);
  case CounterQuantity::kLlcMisses:
    out = known_choices(quantity, llc_miss_names(), system);
    out.push_back(generic_misses(quantity, "LLC-load-misses", PERF_COUNT_HW_CACHE_LL));
    return out;
  case CounterQuantity::kDramTraffic: return controller_choices(system);
  case CounterQuantity::kFpOps:
    add_named(out, kIntelFp, system);
    add_named(out, kAmdFp, system);
    add_named(out, arm_fp(system.scalable_vector_bits()), system);
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
