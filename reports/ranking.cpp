#include "reports/ranking.hpp"

#include "reports/columns.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace attnprof::reports {
namespace {

using profilers::Record;

/// What two cases must share to be ranked against each other.
std::vector<std::string> ranking_key(const Record& record) {
  static constexpr std::array<std::string_view, 15> kShared = {"device", "dtype", "math",    "layout",   "plan",
                                                               "phase",  "batch", "seq_len", "past_len", "kv_len",
                                                               "grid",   "dim",   "heads",   "depth",    "causal"};
  const Items items = items_of(record);
  std::vector<std::string> out = {fmt::format("{}", record.threads), items.item, items.count ? exact(*items.count) : "",
                                  std::string(name_of(record.measured->cache_policy))};
  for (const std::string_view name : kShared) {
    out.push_back(operators::to_string(record.config.get(name)));
  }
  return out;
}

bool is_unsteady(const Record& record) {
  return record.measured->stability && *record.measured->stability != profilers::Stability::kStable;
}

struct Timed {
  std::size_t index;
  double flops;
  double time_s;
  double low_s;
  double high_s;
};

/// Counts in `unsteady` the cases that are left out since their time cannot be relied on.
std::map<std::vector<std::string>, std::vector<Timed>> ranking_groups(const std::vector<Record>& records,
                                                                      std::size_t& unsteady) {
  std::map<std::vector<std::string>, std::vector<Timed>> groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.status == profilers::Status::kOk && record.totals && record.measured && record.measured->time_median_s) {
      if (is_unsteady(record)) {
        ++unsteady;
        continue;
      }
      const double time_s = *record.measured->time_median_s;
      groups[ranking_key(record)].push_back({i, static_cast<double>(record.totals->work.flops().value()), time_s,
                                             record.measured->time_ci_low_s.value_or(time_s),
                                             record.measured->time_ci_high_s.value_or(time_s)});
    }
  }
  return groups;
}

struct Contrary {
  double strength;
  std::size_t light;
  std::size_t heavy;
};

/// The clearest first; equal ones in order of the records.
void keep_clearest(std::vector<Contrary>& pairs, std::size_t most) {
  const auto clearer = [](const Contrary& a, const Contrary& b) {
    return std::tuple(-a.strength, a.light, a.heavy) < std::tuple(-b.strength, b.light, b.heavy);
  };
  const std::size_t kept = std::min(most, pairs.size());
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(kept), pairs.end(), clearer);
  pairs.resize(kept);
}

} // namespace

FlopsAgainstTime flops_against_time(const std::vector<Record>& records) {
  constexpr std::size_t kMostCases = 2000; // pairs grow with the square
  FlopsAgainstTime out;
  std::vector<Contrary> contrary;
  for (const auto& [key, cases] : ranking_groups(records, out.unsteady)) {
    const std::size_t count = std::min(cases.size(), kMostCases);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const Timed& light = cases[i].flops <= cases[j].flops ? cases[i] : cases[j];
        const Timed& heavy = cases[i].flops <= cases[j].flops ? cases[j] : cases[i];
        const bool apart = light.high_s < heavy.low_s || heavy.high_s < light.low_s;
        if (heavy.flops <= light.flops * 1.01 || !apart) {
          continue;
        }
        ++out.pairs;
        if (light.time_s < heavy.time_s) {
          ++out.agreeing;
          continue;
        }
        const double strength =
            std::log(heavy.flops / std::max(light.flops, 1.0)) + std::log(light.time_s / heavy.time_s);
        contrary.push_back({strength, light.index, heavy.index});
      }
      if (contrary.size() > 64 * kMostContradictions) {
        keep_clearest(contrary, kMostContradictions);
      }
    }
  }
  keep_clearest(contrary, kMostContradictions);
  for (const Contrary& pair : contrary) {
    out.contradictions.emplace_back(pair.light, pair.heavy);
  }
  return out;
}

std::vector<std::size_t> pareto_front(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return points[a].first != points[b].first ? points[a].first > points[b].first : points[a].second > points[b].second;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    if (front.empty() || points[i].second > points[front.back()].second) {
      front.push_back(i);
    }
  }
  std::reverse(front.begin(), front.end());
  return front;
}

namespace {

/// Rank of each value from 0; equal values share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) {
      ++end;
    }
    for (std::size_t i = first; i < end; ++i) {
      ranks[order[i]] = 0.5 * static_cast<double>(first + end - 1);
    }
    first = end;
  }
  return ranks;
}

} // namespace

std::optional<double> rank_correlation(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < 3) {
    return {};
  }
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& [one, other] : points) {
    x.push_back(one);
    y.push_back(other);
  }
  x = ranks_of(x);
  y = ranks_of(y);
  const double mean = 0.5 * static_cast<double>(points.size() - 1);
  double xx = 0.0;
  double yy = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx > 0.0 && yy > 0.0 ? std::optional(xy / std::sqrt(xx * yy)) : std::nullopt;
}

std::optional<TimeParts> time_parts(const Record& record) {
  if (record.launches.empty() || record.launch_roofs.size() != record.launches.size()) {
    return {};
  }
  TimeParts out;
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const profilers::LaunchRecord& launch = record.launches[i];
    const std::string& bound = record.launch_roofs[i].bound;
    if (!launch.time_median_s || bound.empty()) {
      return {};
    }
    double& part = bound == "memory"           ? out.bytes_s
                   : bound == "overhead"       ? out.launches_s
                   : launch.cost.work.macs > 0 ? out.products_s
                                               : out.arithmetic_s;
    part += *launch.time_median_s;
  }
  return out;
}

namespace {

/// Matrix products and convolutions of a case: how many, what they compute, and how long they take.
struct Products {
  std::size_t count = 0;
  double flops = 0;
  double time_s = 0;
  bool timed = true;
  [[nodiscard]] std::optional<double> rate() const {
    return timed && time_s > 0.0 ? std::optional(flops / time_s) : std::nullopt;
  }
  [[nodiscard]] double mean_flops() const { return count == 0 ? 0.0 : flops / static_cast<double>(count); }
};

Products products_of(const Record& record) {
  Products out;
  for (const profilers::LaunchRecord& launch : record.launches) {
    if (launch.cost.work.macs > 0) {
      ++out.count;
      out.flops += static_cast<double>(launch.cost.work.flops().value());
      out.time_s += launch.time_median_s.value_or(0.0);
      out.timed = out.timed && launch.time_median_s.has_value();
    }
  }
  return out;
}

double bytes_of(const Record& record) {
  return static_cast<double>((record.totals->bytes_read + record.totals->bytes_written).value());
}

std::string products_text(const Record& light, const Record& heavy) {
  const Products few = products_of(light);
  const Products many = products_of(heavy);
  const std::string size = few.mean_flops() < many.mean_flops()
                               ? fmt::format("smaller products ({} of {} on average, against {} of {})", few.count,
                                             si(few.mean_flops(), "FLOP"), many.count, si(many.mean_flops(), "FLOP"))
                               : fmt::format("{} products against {}", few.count, many.count);
  return fmt::format("{}, which run at {} against {}", size, si(few.rate(), "FLOP/s"), si(many.rate(), "FLOP/s"));
}

std::string arithmetic_text(const Record& light, const Record& heavy) {
  const auto vector_of = [](const Record& record) {
    return si(static_cast<double>(record.totals->work.vector_flops.value()), "FLOP");
  };
  return fmt::format("element-wise arithmetic outside the memory roof ({} against {})", vector_of(light),
                     vector_of(heavy));
}

std::string bytes_text(const Record& light, const Record& heavy) {
  return fmt::format("bytes: launches that memory bounds ({} against {} in all)", si(bytes_of(light), "B"),
                     si(bytes_of(heavy), "B"));
}

std::string launches_text(const Record& light, const Record& heavy) {
  return fmt::format("launches: those that overhead bounds ({} launches against {})", light.launches.size(),
                     heavy.launches.size());
}

/// What the launch times say: parts that hold at least a fifth of the excess.
std::string timed_reason(const Record& light, const Record& heavy) {
  const auto own = time_parts(light);
  const auto other = time_parts(heavy);
  if (!own || !other) {
    return {};
  }
  struct Part {
    double excess_s;
    std::string (*text)(const Record&, const Record&);
  };
  std::vector<Part> parts = {{own->products_s - other->products_s, products_text},
                             {own->bytes_s - other->bytes_s, bytes_text},
                             {own->launches_s - other->launches_s, launches_text},
                             {own->arithmetic_s - other->arithmetic_s, arithmetic_text}};
  std::erase_if(parts, [](const Part& part) { return part.excess_s <= 0.0; });
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.excess_s > b.excess_s; });
  const double excess_s = std::accumulate(parts.begin(), parts.end(), 0.0,
                                          [](double sum, const Part& part) { return sum + part.excess_s; });
  std::vector<std::string> out;
  for (const Part& part : parts) {
    if (part.excess_s >= 0.2 * excess_s) {
      out.push_back(fmt::format("{} more in {}", seconds(part.excess_s), part.text(light, heavy)));
    }
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

/// What the counts say where launches were not timed.
std::string counted_reason(const Record& light, const Record& heavy) {
  std::vector<std::string> out;
  if (bytes_of(light) > 1.05 * bytes_of(heavy)) {
    out.push_back(fmt::format("more bytes ({} against {})", si(bytes_of(light), "B"), si(bytes_of(heavy), "B")));
  }
  if (light.totals->launches > heavy.totals->launches) {
    out.push_back(
        fmt::format("more launches ({} against {})", light.totals->launches.value(), heavy.totals->launches.value()));
  }
  return out.empty() ? std::string("neither bytes nor launches explain it, and launches were not timed")
                     : fmt::format("{}", fmt::join(out, "; "));
}

} // namespace

Contradiction explain(const std::vector<Record>& records, std::size_t light, std::size_t heavy) {
  const Record& few = records[light];
  const Record& many = records[heavy];
  Contradiction out;
  out.light = light;
  out.heavy = heavy;
  out.flops_ratio = static_cast<double>(few.totals->work.flops().value()) /
                    std::max(1.0, static_cast<double>(many.totals->work.flops().value()));
  out.time_ratio = *few.measured->time_median_s / *many.measured->time_median_s;
  out.bytes_ratio = ratio(bytes_of(few), bytes_of(many));
  out.launches_ratio = ratio(real(few.totals->launches), real(many.totals->launches));
  out.product_rate_ratio = ratio(products_of(few).rate(), products_of(many).rate());
  out.why = timed_reason(few, many);
  if (out.why.empty()) {
    out.why = counted_reason(few, many);
  }
  return out;
}

} // namespace attnprof::reports
