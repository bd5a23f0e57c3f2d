#include "bench/limits.hpp"

#include "profilers/environment.hpp"
#include "profilers/system_probe_runner.hpp"

#include <algorithm>
#include <string_view>

namespace attnprof::bench {
namespace {

/// Probe loops take arrays of whole blocks of this many floats.
constexpr std::int64_t kBlock = 128;
constexpr std::int64_t kDramBytes = std::int64_t{96} << 20;
constexpr std::int64_t kReadBytes = std::int64_t{256} << 20;

struct Part {
  std::size_t begin, count;
};
/// Floats of one share, in whole blocks.
Part part_of(std::int64_t floats, int share, int shares) {
  const std::int64_t blocks = std::max<std::int64_t>(floats / kBlock, shares);
  const std::int64_t begin = blocks * share / shares * kBlock;
  const std::int64_t end = blocks * (share + 1) / shares * kBlock;
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
}
std::int64_t whole_blocks(std::int64_t floats, int shares) {
  return std::max<std::int64_t>(floats / kBlock, shares) * kBlock;
}

const profilers::ProbeTable& table_of(const std::string& isa) {
  const std::vector<const profilers::ProbeTable*> tables = profilers::runnable_probe_tables();
  const auto at = std::find_if(tables.begin(), tables.end(), [&](const auto* table) { return isa == table->isa; });
  return at == tables.end() ? *tables.back() : **at;
}

} // namespace

std::string_view name_of(LimitKind kind) {
  switch (kind) {
  case LimitKind::kFma: return "FMA";
  case LimitKind::kBf16: return "bf16 dot";
  case LimitKind::kCopy: return "copy";
  case LimitKind::kRead: break;
  }
  return "read";
}

Limits::Limits(const std::string& isa) : table_(&table_of(isa)) {}

std::optional<Limit> Limits::make(LimitKind kind, int threads, std::int64_t bytes) {
  switch (kind) {
  case LimitKind::kFma: return compute(*find("fma"), kind, threads);
  case LimitKind::kBf16: {
    const profilers::ComputeProbe* probe = find("bf16_dot");
    return probe == nullptr ? std::nullopt : std::optional(compute(*probe, kind, threads));
  }
  case LimitKind::kCopy: return copy(threads, bytes);
  case LimitKind::kRead: break;
  }
  return read(threads, bytes);
}

Limit Limits::compute(const profilers::ComputeProbe& probe, LimitKind kind, int threads) {
  constexpr std::int64_t kIterations = 20'000;
  const operators::ThreadTeam& workers = team(threads);
  return {kind, probe.work_per_iteration * static_cast<double>(kIterations * threads),
          [&workers, run = probe.run] { workers.run([&](int) { run(kIterations); }); }};
}

Limit Limits::copy(int threads, std::int64_t bytes) {
  const std::int64_t floats = whole_blocks(bytes / 8, threads);
  // A copy inside the caches takes microseconds: several in a row, so that starting it does not count.
  const std::int64_t repeats = std::max<std::int64_t>(1, (std::int64_t{4} << 20) / (8 * floats));
  float* from = memory(8 * floats + 4096);
  float* to = from + floats + 5 * 16; // not at equal places within their pages
  const operators::ThreadTeam& workers = team(threads);
  const auto with = [&](auto loop) {
    return Limit{LimitKind::kCopy, 8.0 * static_cast<double>(floats * repeats), [=, &workers] {
                   workers.run([&](int share) {
                     const Part part = part_of(floats, share, workers.size());
                     loop(to + part.begin, from + part.begin, part.count, repeats);
                   });
                 }};
  };
  const Limit plain = with(table_->bandwidth.copy);
  if (8 * floats < kDramBytes || table_->bandwidth.copy_nt == nullptr) {
    return plain;
  }
  const Limit streaming = with(table_->bandwidth.copy_nt);
  profilers::SteadyClock clock;
  const std::vector<Contestant> both{{"plain", plain.run}, {"streaming", streaming.run}};
  CoreWatch none;
  return sample(both, {1e-3, 0.0, 3, 3}, clock, none).median_ratio(0, 1) > 1.0 ? streaming : plain;
}

Limit Limits::read(int threads, std::int64_t bytes) {
  const std::int64_t floats = whole_blocks(std::max(bytes, kReadBytes) / 4, threads);
  const float* from = memory(4 * floats);
  const operators::ThreadTeam& workers = team(threads);
  return {LimitKind::kRead, 4.0 * static_cast<double>(floats), [=, this, &workers] {
            workers.run([&](int share) {
              const Part part = part_of(floats, share, workers.size());
              table_->bandwidth.read(from + part.begin, part.count, 1);
            });
          }};
}

const operators::ThreadTeam& Limits::team(int threads) {
  std::unique_ptr<operators::ThreadTeam>& out = teams_[threads];
  if (!out) {
    out = std::make_unique<operators::ThreadTeam>(threads);
  }
  return *out;
}

float* Limits::memory(std::int64_t bytes) {
  // Limits made earlier may point into it, so it is never replaced by a larger one within a case; a case makes one.
  if (memory_.size() < static_cast<std::size_t>(bytes)) {
    memory_ = profilers::MappedBuffer(static_cast<std::size_t>(bytes));
    memory_.touch(1.0F);
  }
  return memory_.floats().data();
}

const profilers::ComputeProbe* Limits::find(std::string_view unit) const {
  for (std::size_t i = 0; i < table_->compute_count; ++i) {
    const profilers::ComputeProbe& probe = table_->compute[i];
    if (unit == probe.unit && std::string_view(probe.dtype) != "f64") {
#ifdef ATTNPROF_HAS_X86_ISAS
      if (probe.needs != nullptr && __builtin_cpu_supports("avx512bf16") == 0) {
        return nullptr;
      }
#endif
      return &probe;
    }
  }
  return nullptr;
}

} // namespace attnprof::bench
