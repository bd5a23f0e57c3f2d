#include "profilers/cache_model.hpp"

#include "operators/core/cost.hpp"
#include "operators/core/io.hpp"
#include "operators/exec/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::profilers {
namespace {

using operators::Graph;
using operators::TensorRole;

/// A range of memory that one operand of a launch lies in.
struct Span {
  std::int64_t begin = 0; ///< bytes
  std::int64_t end = 0;
  double share = 1; ///< of its bytes that are touched: slices leave gaps
  bool written = false;
  TensorRole role = TensorRole::kIntermediate;
};

/// A part of memory that no operand divides.
struct Segment {
  double bytes = 0;
  bool is_weight = false;
  bool is_cache = false;
  std::int64_t last = -1;   ///< step of the last use; -1: none that counts
  double weight = 0;        ///< bytes of it that were touched then, in all copies
  double dirty = 0;         ///< bytes that memory does not have yet
  std::int64_t dirtied = 0; ///< the step that wrote them
};

/// What one launch does to a segment.
struct Use {
  std::size_t segment = 0;
  double share = 0;
  bool written = false;
};

struct Layout {
  std::vector<Segment> segments;
  std::vector<std::vector<Use>> uses; ///< by launch
};

std::vector<std::int64_t> offsets_of(const Graph& launches) {
  std::vector<std::int64_t> bytes;
  const std::vector<operators::Lifetime> lives = operators::lifetimes(launches);
  for (std::size_t i = 0; i < launches.tensors.size(); ++i)
    bytes.push_back(lives[i].first < 0 ? 0 : launches.tensors[i].bytes().value());
  return operators::plan_workspace(launches, bytes, 0).offsets;
}

Span span_of(const Graph& launches, const operators::View& view, const std::vector<std::int64_t>& offsets,
             bool written) {
  const operators::Tensor& tensor = launches.tensor(view.tensor);
  const std::int64_t size = operators::size_bytes(tensor.dtype);
  std::int64_t last = view.offset;
  for (std::size_t i = 0; i < view.rank(); ++i)
    last += (view.dims[i] - 1) * view.strides[i];
  const std::int64_t at = offsets[static_cast<std::size_t>(view.tensor)];
  Span out{at + view.offset * size, at + (last + 1) * size, 1, written, tensor.role};
  const auto distinct = static_cast<double>(view.distinct_elements().value() * size);
  if (out.end > out.begin)
    out.share = std::min(1.0, distinct / static_cast<double>(out.end - out.begin));
  return out;
}

std::vector<std::vector<Span>> spans_of(const Graph& launches) {
  const std::vector<std::int64_t> offsets = offsets_of(launches);
  std::vector<std::vector<Span>> out;
  for (const operators::Op& op : launches.ops) {
    const operators::Io io = operators::io_of(op.primitive);
    std::vector<Span>& spans = out.emplace_back();
    for (const operators::View& view : io.reads)
      spans.push_back(span_of(launches, view, offsets, false));
    for (const operators::View& view : io.writes)
      spans.push_back(span_of(launches, view, offsets, true));
    std::erase_if(spans, [](const Span& span) { return span.end <= span.begin; });
  }
  return out;
}

Layout layout_of(const Graph& launches) {
  const std::vector<std::vector<Span>> spans = spans_of(launches);
  std::vector<std::int64_t> ends;
  for (const std::vector<Span>& of_launch : spans)
    for (const Span& span : of_launch) {
      ends.push_back(span.begin);
      ends.push_back(span.end);
    }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  Layout out;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    out.segments.push_back({static_cast<double>(ends[i + 1] - ends[i])});
  std::vector<double> share(out.segments.size(), 0);
  std::vector<bool> written(out.segments.size(), false);
  for (const std::vector<Span>& of_launch : spans) {
    std::vector<std::size_t> touched;
    for (const Span& span : of_launch) {
      auto at = static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), span.begin) - ends.begin());
      for (; ends[at] < span.end; ++at) {
        if (share[at] == 0)
          touched.push_back(at);
        // Slices of one tensor lie beside each other; an operand that is read and written in place is one.
        share[at] = span.written ? std::max(share[at], span.share) : std::min(1.0, share[at] + span.share);
        written[at] = written[at] || span.written;
        out.segments[at].is_weight |= span.role == TensorRole::kWeight || span.role == TensorRole::kConstant;
        out.segments[at].is_cache |= span.role == TensorRole::kCache;
      }
    }
    std::vector<Use>& uses = out.uses.emplace_back();
    for (const std::size_t at : touched) {
      uses.push_back({at, share[at], written[at]});
      share[at] = 0;
      written[at] = false;
    }
  }
  return out;
}

/// Sums of weights by step, from the latest back (Fenwick 1994).
class RecentBytes {
 public:
  explicit RecentBytes(std::size_t steps) : tree_(steps + 1, 0) {}
  void add(std::int64_t step, double bytes) {
    total_ += bytes;
    for (auto i = static_cast<std::size_t>(step) + 1; i < tree_.size(); i += i & (~i + 1))
      tree_[i] += bytes;
  }
  /// Bytes whose last use is `step` or later.
  [[nodiscard]] double since(std::int64_t step) const {
    double before = 0;
    for (auto i = static_cast<std::size_t>(step); i > 0; i -= i & (~i + 1))
      before += tree_[i];
    return total_ - before;
  }

 private:
  std::vector<double> tree_;
  double total_ = 0;
};

/// Share of a range for which the distance, which changes evenly from its first byte to its last, is within reach.
double share_within(double first, double last, double capacity) {
  if (std::max(first, last) <= capacity)
    return 1;
  if (std::min(first, last) > capacity)
    return 0;
  return (capacity - std::min(first, last)) / std::abs(last - first);
}

class LevelRun {
 public:
  LevelRun(const Layout& layout, const CacheLevel& level, CachePolicy policy)
      : uses_(layout.uses), segments_(layout.segments), level_(level), policy_(policy), recent_(2 * layout.uses.size()),
        traffic_(layout.uses.size()) {}

  /// The first pass brings the caches into the state in which each further pass finds them; the second is counted.
  std::vector<BorderTraffic> run() {
    const auto count = static_cast<std::int64_t>(uses_.size());
    for (std::int64_t step = 0; step < 2 * count; ++step) {
      if (step % count == 0)
        forget();
      launch(step, step >= count);
    }
    return std::move(traffic_);
  }

 private:
  [[nodiscard]] double copies(const Segment& segment) const { return segment.is_weight ? level_.copies : 1; }

  void forget() {
    for (Segment& segment : segments_) {
      const bool evicted = policy_ == CachePolicy::kCold ||
                           (policy_ == CachePolicy::kColdWeights && segment.is_weight) ||
                           (policy_ == CachePolicy::kColdKv && segment.is_cache);
      if (!evicted || segment.last < 0)
        continue;
      recent_.add(segment.last, -segment.weight);
      segment.last = -1;
      segment.dirty = 0; // written back before the sample begins
    }
  }

  /// Bytes of this launch that were last used at `step` or before, with those never used.
  static double older_than(const std::vector<std::pair<std::int64_t, double>>& sums, std::int64_t step) {
    const auto at = std::upper_bound(sums.begin(), sums.end(), step,
                                     [](std::int64_t value, const auto& entry) { return value < entry.first; });
    return at == sums.begin() ? 0 : std::prev(at)->second;
  }

  void launch(std::int64_t step, bool counted) {
    const std::vector<Use>& uses = uses_[static_cast<std::size_t>(step) % uses_.size()];
    std::vector<std::pair<std::int64_t, double>> older; // last step, bytes
    for (const Use& use : uses) {
      const Segment& segment = segments_[use.segment];
      older.emplace_back(segment.last, segment.bytes * use.share * copies(segment));
    }
    std::sort(older.begin(), older.end());
    for (std::size_t i = 1; i < older.size(); ++i)
      older[i].second += older[i - 1].second;
    std::vector<double> found;
    const double capacity = static_cast<double>(level_.bytes) * level_.copies;
    for (const Use& use : uses) {
      const std::int64_t last = segments_[use.segment].last;
      found.push_back(
          last < 0 ? 0
                   : share_within(recent_.since(last), recent_.since(last + 1) + older_than(older, last), capacity));
    }
    for (std::size_t i = 0; i < uses.size(); ++i)
      touch(uses[i], found[i], step, counted);
  }

  void touch(const Use& use, double found, std::int64_t step, bool counted) {
    Segment& segment = segments_[use.segment];
    const auto count = static_cast<std::int64_t>(uses_.size());
    const double bytes = segment.bytes * use.share * copies(segment);
    if (counted) {
      traffic_[static_cast<std::size_t>(step % count)].fill_bytes += (1 - found) * bytes;
      traffic_[static_cast<std::size_t>(segment.dirtied % count)].write_back_bytes += (1 - found) * segment.dirty;
    }
    segment.dirty *= found;
    if (use.written) {
      segment.dirty = bytes;
      segment.dirtied = step;
    }
    if (segment.last >= 0)
      recent_.add(segment.last, -segment.weight);
    segment.last = step;
    segment.weight = bytes;
    recent_.add(step, bytes);
  }

  const std::vector<std::vector<Use>>& uses_;
  std::vector<Segment> segments_;
  CacheLevel level_;
  CachePolicy policy_;
  RecentBytes recent_;
  std::vector<BorderTraffic> traffic_;
};

} // namespace

std::vector<CacheLevel> cache_levels(const std::vector<Cache>& caches, int threads) {
  std::vector<CacheLevel> out;
  for (const Cache& cache : caches) {
    if (cache.size_bytes <= 0 || (!out.empty() && out.back().level == cache.level))
      continue;
    out.push_back({cache.level, cache.size_bytes, std::clamp(cache.instances, 1, std::max(1, threads)),
                   cache.line_bytes > 0 ? cache.line_bytes : 64});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  return out;
}

std::vector<std::vector<BorderTraffic>> modelled_traffic(const Graph& launches, const std::vector<CacheLevel>& levels,
                                                         CachePolicy policy) {
  std::vector<std::vector<BorderTraffic>> out(launches.ops.size());
  if (launches.ops.empty())
    return out;
  const Layout layout = layout_of(launches);
  for (const CacheLevel& level : levels) {
    const std::vector<BorderTraffic> traffic = LevelRun(layout, level, policy).run();
    for (std::size_t i = 0; i < traffic.size(); ++i)
      out[i].push_back(traffic[i]);
  }
  return out;
}

std::vector<LevelTraffic> level_traffic(const Graph& launches, const std::vector<CacheLevel>& levels,
                                        CachePolicy policy) {
  std::vector<LevelTraffic> out(launches.ops.size());
  const auto traffic = modelled_traffic(launches, levels, policy);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const BorderTraffic& border = traffic[i][at];
      const std::int64_t bytes = std::llround(border.fill_bytes + border.write_back_bytes);
      if (at + 1 == levels.size()) {
        out[i].dram_bytes = bytes;
        out[i].dram_fill_bytes = std::llround(border.fill_bytes);
      } else if (levels[at + 1].level == 2) {
        out[i].l2_bytes = bytes;
      } else if (levels[at + 1].level == 3) {
        out[i].l3_bytes = bytes;
      }
    }
  return out;
}

std::string text_of(const std::vector<CacheLevel>& levels) {
  std::vector<std::string> out;
  for (const CacheLevel& level : levels) {
    const bool whole_mib = level.bytes % (std::int64_t{1} << 20) == 0;
    out.push_back(fmt::format("{}{} {} L{}", level.copies == 1 ? "" : fmt::format("{} x ", level.copies),
                              level.bytes >> (whole_mib ? 20 : 10), whole_mib ? "MiB" : "KiB", level.level));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

} // namespace attnprof::profilers
