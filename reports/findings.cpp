#include "reports/findings.hpp"

#include "profilers/statistics.hpp"
#include "reports/columns.hpp"
#include "reports/families.hpp"
#include "reports/format.hpp"
#include "reports/ranking.hpp"
#include "reports/record_values.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

using profilers::Record;
using Findings = std::vector<std::pair<std::string, std::string>>;

bool is_steady(const Record& record) {
  return is_measured(record) &&
         (!record.measured->stability || *record.measured->stability == profilers::Stability::kStable);
}

double time_of(const Record& record) {
  return *record.measured->time_median_s;
}

std::string times(double ratio) {
  return fmt::format("{} times", plain(std::round(ratio * 100.0) / 100.0));
}

std::string strength_of(double correlation) {
  const double size = std::abs(correlation);
  return size >= 0.9   ? "nearly decides"
         : size >= 0.7 ? "mostly decides"
         : size >= 0.4 ? "partly decides"
                       : "hardly decides";
}

void add_work(Findings& out, const std::vector<Record>& records) {
  for (const ItemCorrelation& one : work_time_correlations(records)) {
    out.emplace_back("Work and time",
                     fmt::format("The number of FLOPs {} the order of the times: over {} steady cases the rank "
                                 "correlation of FLOPs and time per {} is {:.2f} (1: the same order, 0: none).",
                                 strength_of(one.value), one.cases, one.item, one.value));
  }
}

void add_plans(Findings& out, const std::vector<Record>& records) {
  std::vector<double> ratios;
  for (const auto& [eager, fused] : plan_pairs(records)) {
    ratios.push_back(time_of(records[fused]) / time_of(records[eager]));
  }
  const auto middle = profilers::median(ratios);
  if (!middle) {
    return;
  }
  const auto faster = std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1.0; });
  out.emplace_back("Fusing", fmt::format("The fused plan takes less time than the eager one in {} of {} pairs; in the "
                                         "median pair it takes {} of the time.",
                                         faster, ratios.size(), percent(*middle)));
}

/// Each case of another layout held against the first of standard blocks of its family and depth.
void add_layouts(Findings& out, const std::vector<Record>& records) {
  struct Against {
    std::vector<double> times;
    std::vector<double> flops;
  };
  std::map<std::string, Against> found;
  for (const LayoutFamily& family : layout_families(records)) {
    std::map<std::string, std::size_t> standard; // by depth
    for (const std::size_t i : family.records) {
      if (text_of(records[i], "layout") == "standard" && records[i].totals->work.flops() > 0) {
        standard.emplace(text_of(records[i], "depth"), i);
      }
    }
    for (const std::size_t i : family.records) {
      const std::string layout = text_of(records[i], "layout");
      const auto at = standard.find(text_of(records[i], "depth"));
      if (at == standard.end() || layout == "standard" || layout == "op") {
        continue;
      }
      const Record& other = records[at->second];
      Against& one = found[layout];
      one.times.push_back(time_of(records[i]) / time_of(other));
      one.flops.push_back(*ratio(real(records[i].totals->work.flops()), real(other.totals->work.flops())));
    }
  }
  for (const auto& [layout, one] : found) {
    out.emplace_back("Layouts",
                     fmt::format("At equal depth and shape, {} takes {} the time of standard blocks with {} "
                                 "the FLOPs (medians of {} {}).",
                                 layout, times(*profilers::median(one.times)), times(*profilers::median(one.flops)),
                                 one.times.size(), one.times.size() == 1 ? "pair" : "pairs"));
  }
}

/// "62 % of the launch time", the median over the cases of a phase.
std::optional<double> memory_share_of(const std::vector<Record>& records, std::string_view phase) {
  std::vector<double> shares;
  for (const Record& record : records) {
    if (is_measured(record) && record.memory_bound_time_share && text_of(record, "phase") == phase) {
      shares.push_back(*record.memory_bound_time_share);
    }
  }
  return profilers::median(shares);
}

void add_phases(Findings& out, const std::vector<Record>& records) {
  const auto prefill = memory_share_of(records, "prefill");
  const auto decode = memory_share_of(records, "decode");
  if (prefill && decode) {
    out.emplace_back("Phases",
                     fmt::format("Launches that memory bounds take {} of the launch time in the median decode "
                                 "case and {} in the median prefill case.",
                                 percent(*decode), percent(*prefill)));
  }
}

void add_stability(Findings& out, const std::vector<Record>& records) {
  const auto timed = std::count_if(records.begin(), records.end(), is_measured);
  const auto steady = std::count_if(records.begin(), records.end(), is_steady);
  if (timed == 0) {
    return;
  }
  out.emplace_back("Stability",
                   timed == steady ? fmt::format("The times of all {} measured cases are steady.", timed)
                   : timed == 1
                       ? std::string("The time of the case is not steady: see its samples below.")
                       : fmt::format("The times of {} of {} measured cases are steady; those of the others are marked "
                                     "and left out of the ranking.",
                                     steady, timed));
}

} // namespace

std::vector<ItemCorrelation> work_time_correlations(const std::vector<Record>& records) {
  std::map<std::string, std::vector<std::pair<double, double>>> points;
  for (const Record& record : records) {
    if (!is_steady(record) || record.totals->work.flops() <= 0) {
      continue;
    }
    if (const Items items = items_of(record); items.count.value_or(0.0) > 0.0) {
      points[items.item].emplace_back(static_cast<double>(record.totals->work.flops().value()) / *items.count,
                                      time_of(record) / *items.count);
    }
  }
  std::vector<ItemCorrelation> out;
  for (const auto& [item, of_item] : points) {
    if (const auto value = rank_correlation(of_item)) {
      out.push_back({item, of_item.size(), *value});
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> findings(const std::vector<Record>& records) {
  Findings out;
  add_work(out, records);
  add_plans(out, records);
  add_layouts(out, records);
  add_phases(out, records);
  add_stability(out, records);
  return out;
}

} // namespace attnprof::reports
