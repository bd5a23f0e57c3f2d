#include "profilers/plateaus.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attnprof::profilers {
namespace {

// Natural logarithms: a step of 25 %, and how much a plateau may slope from end to end.
constexpr double kLeastStep = 0.223;
constexpr double kMostSlope = 0.3;
// Working sets have to double at least within a plateau.
constexpr double kLeastSpan = 2;

struct LineSegment {
  std::size_t begin = 0;
  std::size_t end = 0; ///< one past the last point
};

std::vector<double> smoothed_logs(std::span<const CurvePoint> curve) {
  std::vector<double> logs(curve.size());
  for (std::size_t i = 0; i < curve.size(); ++i)
    logs[i] = std::log(curve[i].bytes_per_s);
  std::vector<double> smooth = logs;
  for (std::size_t i = 1; i + 1 < logs.size(); ++i)
    smooth[i] = *median(std::span(logs).subspan(i - 1, 3));
  return smooth;
}

// A bigger working set is never faster. What is slower than its right neighbours was disturbed while it was measured,
// or, at the small end, slowed by the loop around it.
std::vector<double> never_rising(std::vector<double> logs) {
  for (std::size_t i = logs.size(); i-- > 1;)
    logs[i - 1] = std::max(logs[i - 1], logs[i]);
  return logs;
}

double noise_of(const std::vector<double>& logs) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < logs.size(); ++i)
    steps.push_back(std::abs(logs[i] - logs[i - 1]));
  return 1.4826 / std::sqrt(2.0) * median(steps).value_or(0);
}

// Least squares with constants on segments, each segment paid for (Jackson et al. 2005, optimal partitioning).
std::vector<LineSegment> segment(const std::vector<double>& logs, double penalty) {
  const std::size_t count = logs.size();
  std::vector<double> sum(count + 1, 0);
  std::vector<double> squares(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i + 1] = sum[i] + logs[i];
    squares[i + 1] = squares[i] + logs[i] * logs[i];
  }
  const auto residual = [&](std::size_t begin, std::size_t end) {
    const double total = sum[end] - sum[begin];
    return std::max(0.0, squares[end] - squares[begin] - total * total / static_cast<double>(end - begin));
  };
  std::vector<double> best(count + 1, std::numeric_limits<double>::max());
  std::vector<std::size_t> from(count + 1, 0);
  best[0] = 0;
  for (std::size_t end = 1; end <= count; ++end)
    for (std::size_t begin = 0; begin < end; ++begin) {
      const double cost = best[begin] + residual(begin, end) + penalty;
      if (cost < best[end]) {
        best[end] = cost;
        from[end] = begin;
      }
    }
  std::vector<LineSegment> segments;
  for (std::size_t end = count; end > 0; end = from[end])
    segments.insert(segments.begin(), LineSegment{from[end], end});
  return segments;
}

double level_of(const std::vector<double>& logs, const LineSegment& segment) {
  return *median(std::span(logs).subspan(segment.begin, segment.end - segment.begin));
}

bool is_plateau(std::span<const CurvePoint> curve, const std::vector<double>& logs, const LineSegment& segment) {
  const double first = static_cast<double>(curve[segment.begin].working_set_bytes);
  const double last = static_cast<double>(curve[segment.end - 1].working_set_bytes);
  const std::size_t third = std::max<std::size_t>(1, (segment.end - segment.begin) / 3);
  const double fall =
      level_of(logs, {segment.begin, segment.begin + third}) - level_of(logs, {segment.end - third, segment.end});
  return last >= kLeastSpan * first && std::abs(fall) <= kMostSlope;
}

void merge_small_steps(const std::vector<double>& logs, std::vector<LineSegment>& segments) {
  while (segments.size() > 1) {
    std::size_t smallest = 0;
    double smallest_step = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      const double step = level_of(logs, segments[i]) - level_of(logs, segments[i + 1]);
      if (step < smallest_step) {
        smallest_step = step;
        smallest = i;
      }
    }
    if (smallest_step >= kLeastStep)
      return;
    segments[smallest].end = segments[smallest + 1].end;
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(smallest) + 1);
  }
}

// Points on the slopes at both ends are nearer to a neighbour than to the plateau.
void trim(const std::vector<double>& logs, LineSegment& segment) {
  constexpr double kNear = 0.15;
  const double level = level_of(logs, segment);
  while (segment.end - segment.begin > 1 && level - logs[segment.end - 1] > kNear)
    --segment.end;
  while (segment.end - segment.begin > 1 && std::abs(logs[segment.begin] - level) > kNear)
    ++segment.begin;
}

struct Naming {
  double cost = std::numeric_limits<double>::max();
  std::vector<int> level; ///< of each plateau; 0 where no cache was taken
};

// Tries every increasing choice of caches: there are at most four levels and a handful of plateaus.
void try_caches(std::span<const Plateau> plateaus, std::span<const CacheShare> caches, std::vector<int>& chosen,
                double cost, Naming& best) {
  constexpr double kUnexplained = 1.386; // a factor of 4 between a plateau's end and a cache's size
  if (chosen.size() == plateaus.size()) {
    if (cost < best.cost)
      best = {cost, chosen};
    return;
  }
  const double end = static_cast<double>(plateaus[chosen.size()].last_bytes);
  for (std::size_t i = 0; i < caches.size(); ++i) {
    chosen.push_back(caches[i].level);
    try_caches(plateaus, caches.subspan(i + 1), chosen,
               cost + std::abs(std::log(end / static_cast<double>(caches[i].bytes))), best);
    chosen.pop_back();
  }
  chosen.push_back(0);
  try_caches(plateaus, caches, chosen, cost + kUnexplained, best);
  chosen.pop_back();
}

} // namespace

std::vector<Plateau> find_plateaus(std::span<const CurvePoint> curve) {
  std::vector<CurvePoint> usable;
  for (const CurvePoint& point : curve)
    if (point.working_set_bytes > 0 && point.bytes_per_s > 0 && std::isfinite(point.bytes_per_s))
      usable.push_back(point);
  if (usable.size() < 3)
    return {};
  const std::vector<double> smooth = smoothed_logs(usable);
  const double noise = noise_of(smooth);
  const std::vector<double> logs = never_rising(smooth);
  const double penalty = std::max(0.03, 4 * noise * noise * std::log(static_cast<double>(usable.size())));
  std::vector<LineSegment> segments = segment(logs, penalty);
  // Slopes first: merged into a plateau they would bend it.
  std::erase_if(segments, [&](const LineSegment& part) { return !is_plateau(usable, logs, part); });
  merge_small_steps(logs, segments);
  std::vector<Plateau> plateaus;
  for (LineSegment part : segments) {
    trim(logs, part);
    plateaus.push_back(
        {usable[part.begin].working_set_bytes, usable[part.end - 1].working_set_bytes, std::exp(level_of(logs, part))});
  }
  return plateaus;
}

std::vector<std::optional<std::string>> name_plateaus(std::span<const Plateau> plateaus,
                                                      std::span<const CacheShare> caches) {
  std::vector<std::optional<std::string>> names(plateaus.size());
  if (plateaus.empty())
    return names;
  std::vector<CacheShare> known(caches.begin(), caches.end());
  std::erase_if(known, [](const CacheShare& cache) { return cache.bytes <= 0; });
  std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  std::size_t cached = plateaus.size();
  if (known.empty() || plateaus.back().last_bytes >= 2 * known.back().bytes) {
    names.back() = "DRAM";
    --cached;
  }
  Naming best;
  std::vector<int> chosen;
  try_caches(plateaus.first(cached), known, chosen, 0, best);
  const int highest = std::max(3, known.empty() ? 0 : known.back().level);
  for (std::size_t i = 0, previous = 0; i < cached; ++i) {
    std::size_t level = static_cast<std::size_t>(best.level[i]);
    if (level == 0) {
      const auto next = std::find_if(best.level.begin() + static_cast<std::ptrdiff_t>(i), best.level.end(),
                                     [](int taken) { return taken != 0; });
      if (next != best.level.end() && static_cast<std::size_t>(*next) <= previous + 1)
        continue;
      level = previous + 1;
      if (level > static_cast<std::size_t>(highest))
        continue;
    }
    names[i] = fmt::format("L{}", level);
    previous = level;
  }
  return names;
}

} // namespace attnprof::profilers
