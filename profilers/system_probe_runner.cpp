#include "profilers/system_probe_runner.hpp"

#include "operators/exec/threads.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace attnprof::profilers {

namespace baseline {
const ProbeTable& probe_table();
}
#ifdef ATTNPROF_HAS_X86_ISAS
namespace avx2 {
const ProbeTable& probe_table();
}
namespace avx512 {
const ProbeTable& probe_table();
}
#endif

namespace {

struct Candidate {
  const ProbeTable* table;
  bool runnable;
  const char* architecture_level;
};

// Asking for a table executes nothing of its instruction set: the tables are
// constants.
std::vector<Candidate> candidates() {
  std::vector<Candidate> all{{&baseline::probe_table(), true, "the baseline"}};
#ifdef ATTNPROF_HAS_X86_ISAS
  all.push_back({&avx2::probe_table(), __builtin_cpu_supports("x86-64-v3") != 0, "x86-64-v3"});
  all.push_back({&avx512::probe_table(), __builtin_cpu_supports("x86-64-v4") != 0, "x86-64-v4"});
#endif
  return all;
}

bool has_feature(const char* feature) {
  if (feature == nullptr)
    return true;
#ifdef ATTNPROF_HAS_X86_ISAS
  // The builtin takes literals only.
  if (std::string_view(feature) == "avx512bf16")
    return __builtin_cpu_supports("avx512bf16") != 0;
#endif
  return false;
}

// Arrays of one pass inside a thread's memory, set apart by a few lines so that
// they do not share cache sets.
constexpr std::size_t kArrayGapFloats = 5 * 16;
constexpr std::int64_t kSlackBytes = 4096;

struct Arrays {
  float* a;
  float* b;
  float* c;
  std::size_t count; ///< floats in each
};

Arrays arrays_in(const MappedBuffer& memory, Traffic kind, std::int64_t offset_bytes, std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(bytes / arrays_of(kind)) / sizeof(float);
  float* a = memory.floats().data() + static_cast<std::size_t>(offset_bytes) / sizeof(float);
  return {a, a + count + kArrayGapFloats, a + 2 * (count + kArrayGapFloats), count};
}

void pass(const BandwidthProbes& probes, Traffic kind, const Arrays& at, std::int64_t repeats) {
  switch (kind) {
  case Traffic::kRead: probes.read(at.a, at.count, repeats); break;
  case Traffic::kWrite: probes.write(at.a, at.count, repeats); break;
  case Traffic::kWriteNt: probes.write_nt(at.a, at.count, repeats); break;
  case Traffic::kCopy: probes.copy(at.a, at.b, at.count, repeats); break;
  case Traffic::kCopyNt: probes.copy_nt(at.a, at.b, at.count, repeats); break;
  case Traffic::kTriad: probes.triad(at.a, at.b, at.c, at.count, repeats); break;
  case Traffic::kTriadNt: probes.triad_nt(at.a, at.b, at.c, at.count, repeats); break;
  }
}

const BandwidthProbes& widest_bandwidth() {
  return runnable_probe_tables().back()->bandwidth;
}

} // namespace

std::vector<const ProbeTable*> runnable_probe_tables() {
  std::vector<const ProbeTable*> tables;
  for (const Candidate& candidate : candidates())
    if (candidate.runnable)
      tables.push_back(candidate.table);
  return tables;
}

SystemProbeRunner::SystemProbeRunner(const Environment& environment) : cpus_(environment.cpus) {
  if (cpus_.empty())
    cpus_.push_back(0);
  cpus_.resize(std::min(cpus_.size(), static_cast<std::size_t>(std::max(1, environment.cores))));
  memory_.resize(cpus_.size());
  for (const ProbeTable* table : runnable_probe_tables())
    for (std::size_t i = 0; i < table->compute_count; ++i)
      if (has_feature(table->compute[i].needs))
        compute_.push_back({table, &table->compute[i]});
}

SystemProbeRunner::~SystemProbeRunner() = default;

std::vector<ProbeRunner::Compute> SystemProbeRunner::compute_probes() const {
  std::vector<Compute> probes;
  for (const auto& [table, probe] : compute_)
    probes.push_back({probe->unit, probe->dtype, table->isa, probe->work_per_iteration});
  return probes;
}

std::vector<AbsentCeiling> SystemProbeRunner::absent_probes() const {
  std::vector<AbsentCeiling> absent;
  for (const Candidate& candidate : candidates())
    for (std::size_t i = 0; i < candidate.table->compute_count; ++i) {
      const ComputeProbe& probe = candidate.table->compute[i];
      if (!candidate.runnable)
        absent.push_back({probe.unit, probe.dtype, candidate.table->isa,
                          fmt::format("this processor does not run {}", candidate.architecture_level)});
      else if (!has_feature(probe.needs))
        absent.push_back(
            {probe.unit, probe.dtype, candidate.table->isa, fmt::format("this processor has no {}", probe.needs)});
    }
  return absent;
}

ThreadTeam& SystemProbeRunner::team_of(int threads) {
  auto& team = teams_[threads];
  if (!team)
    team = std::make_unique<ThreadTeam>(std::vector<int>(cpus_.begin(), cpus_.begin() + threads));
  return *team;
}

double SystemProbeRunner::timed(ThreadTeam& team, const std::function<void(int)>& prepare,
                                const std::function<void(int)>& run) {
  const double time_s = team.run(prepare, run);
  was_disturbed_ = team.was_disturbed();
  return time_s;
}

double SystemProbeRunner::run_compute(std::size_t probe, int threads, std::int64_t iterations) {
  const auto run = compute_[probe].probe->run;
  // A short run first: cores take a while to power up wide vector units.
  return timed(
      team_of(threads), [&](int) { run(iterations / 16 + 1); }, [&](int) { run(iterations); });
}

bool SystemProbeRunner::offers(Traffic kind) const {
  const BandwidthProbes& probes = widest_bandwidth();
  switch (kind) {
  case Traffic::kWriteNt: return probes.write_nt != nullptr;
  case Traffic::kCopyNt: return probes.copy_nt != nullptr;
  case Traffic::kTriadNt: return probes.triad_nt != nullptr;
  default: return true;
  }
}

void SystemProbeRunner::provide_memory(ThreadTeam& team, std::int64_t bytes_per_thread) {
  const auto needed = static_cast<std::size_t>(bytes_per_thread + kSlackBytes);
  const auto count = static_cast<std::size_t>(team.size());
  std::vector<bool> fresh(count, false);
  for (std::size_t i = 0; i < count; ++i)
    if (memory_[i].size() < needed) {
      memory_[i] = MappedBuffer(needed);
      fresh[i] = true;
    }
  if (std::find(fresh.begin(), fresh.end(), true) == fresh.end())
    return;
  // First touch by the thread that will use it: the pages then lie on its own
  // memory node.
  team.run(
      [&](int thread) {
        if (fresh[static_cast<std::size_t>(thread)])
          memory_[static_cast<std::size_t>(thread)].touch(1.0F);
      },
      [](int) {});
}

double SystemProbeRunner::run_traffic(Traffic kind, int threads, std::int64_t bytes_per_thread, std::int64_t repeats) {
  ThreadTeam& team = team_of(threads);
  provide_memory(team, bytes_per_thread);
  const BandwidthProbes& probes = widest_bandwidth();
  const auto run = [&](int thread, std::int64_t times) {
    pass(probes, kind, arrays_in(memory_[static_cast<std::size_t>(thread)], kind, 0, bytes_per_thread), times);
  };
  // At least one pass brings the set into its level; more of them let a core
  // that has just been woken speed up.
  return timed(
      team, [&](int thread) { run(thread, 1 + repeats / 4); }, [&](int thread) { run(thread, repeats); });
}

double SystemProbeRunner::run_stream(Traffic kind, int threads, std::int64_t bytes_per_thread,
                                     std::int64_t window_bytes) {
  ThreadTeam& team = team_of(threads);
  provide_memory(team, bytes_per_thread);
  const BandwidthProbes& probes = widest_bandwidth();
  const std::int64_t windows = std::max<std::int64_t>(1, bytes_per_thread / window_bytes);
  const std::int64_t offset = stream_bytes_ / window_bytes % windows * window_bytes;
  stream_bytes_ += window_bytes;
  return timed(
      team, [](int) {},
      [&](int thread) {
        const MappedBuffer& memory = memory_[static_cast<std::size_t>(thread)];
        pass(probes, kind, arrays_in(memory, kind, offset, window_bytes), 1);
      });
}

std::optional<double> SystemProbeRunner::cpu_clock_hz() {
  return measure_cpu_clock_hz(clock_, host_);
}

double SystemProbeRunner::run_empty_launches(int threads, int launches) {
  const operators::ThreadTeam team(threads);
  const std::int64_t begin = clock_.now_ns();
  for (int i = 0; i < launches; ++i)
    team.run([](int) {});
  return seconds_between(begin, clock_.now_ns()) / launches;
}

} // namespace attnprof::profilers
