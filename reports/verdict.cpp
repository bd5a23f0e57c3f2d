#include "reports/verdict.hpp"

#include "profilers/statistics.hpp"
#include "reports/columns.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

using profilers::Record;

struct Phrase {
  std::string subject;
  bool plural;
};

Phrase phrase_of(const std::string& bound) {
  if (bound == "memory") {
    return {"memory bandwidth", false};
  }
  if (bound == "compute") {
    return {"matrix products", true};
  }
  if (bound == "vector") {
    return {"element-wise arithmetic", false};
  }
  return bound == "transcendental" ? Phrase{"exponentials", true} : Phrase{"launch overhead", false};
}

std::string verb(const Phrase& phrase) {
  return phrase.plural ? "bound" : "bounds";
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

std::string plural_of(const std::string& op) {
  static const std::map<std::string, std::string> kPlurals = {
      {"matmul", "matrix products"},     {"copy", "copies"},
      {"pointwise", "element-wise ops"}, {"layernorm", "layer norms"},
      {"attention", "fused attention"},  {"depthwise_conv2d", "depthwise convolutions"}};
  const auto found = kPlurals.find(op);
  return found == kPlurals.end() ? op : found->second;
}

/// Time of a launch as bound_shares weighs it.
double weight(const Record& record, std::size_t launch, bool measured) {
  return (measured ? record.launches[launch].time_median_s : record.launch_roofs[launch].roof_time_s).value_or(0.0);
}

bool is_timed(const Record& record) {
  return std::all_of(record.launches.begin(), record.launches.end(),
                     [](const auto& launch) { return launch.time_median_s && *launch.time_median_s > 0.0; });
}

/// The one or two primitives with most time under a bound: those with at least a fifth of it.
std::string main_ops(const Record& record, const std::string& bound) {
  const bool measured = is_timed(record);
  std::map<std::string, double> time_of_op;
  double whole = 0.0;
  for (std::size_t i = 0; i < record.launch_roofs.size(); ++i) {
    if (record.launch_roofs[i].bound == bound) {
      time_of_op[record.launches[i].cost.op] += weight(record, i, measured);
      whole += weight(record, i, measured);
    }
  }
  std::vector<std::pair<double, std::string>> ordered;
  for (const auto& [op, time] : time_of_op) {
    ordered.emplace_back(-time, op);
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::string> names;
  for (const auto& [time, op] : ordered) {
    if (names.size() < 2 && -time >= 0.2 * whole) {
      names.push_back(plural_of(op));
    }
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string whole_percent(double share) {
  return fmt::format("{:.0f} %", share * 100.0);
}

std::string not_run(const Record& record) {
  return fmt::format("{} is {}: {}", short_name(record), name_of(record.status),
                     record.reason.empty() ? "no reason is recorded" : record.reason);
}

} // namespace

std::string verdict_sentence(const Record& record) {
  if (record.status != profilers::Status::kOk) {
    return not_run(record);
  }
  const std::vector<BoundShare> shares = bound_shares(record);
  if (shares.empty()) {
    return fmt::format("What bounds {} is unknown: the ceilings of this machine were not measured.",
                       short_name(record));
  }
  const Phrase first = phrase_of(shares[0].bound);
  std::string out =
      fmt::format("{} {} {} of the {}time of {}", capital(first.subject), verb(first), whole_percent(shares[0].share),
                  is_timed(record) ? "" : "predicted ", short_name(record));
  // "matrix products (matrix products)" would say it twice.
  const std::string ops = main_ops(record, shares[0].bound);
  out += ops.empty() || ops == first.subject ? "" : fmt::format(" ({})", ops);
  for (std::size_t i = 1; i < shares.size() && i < 3 && shares[i].share >= 0.05; ++i) {
    const Phrase next = phrase_of(shares[i].bound);
    const std::string next_ops = main_ops(record, shares[i].bound);
    out += fmt::format("; {} {} {}{}", next.subject, verb(next), whole_percent(shares[i].share),
                       next_ops.empty() || next_ops == next.subject ? "" : fmt::format(" ({})", next_ops));
  }
  if (record.roof.roof_fraction) {
    out += fmt::format("; the case reaches {} of its roof", percent(record.roof.roof_fraction));
  }
  return out + ".";
}

namespace {

/// What two cases must share to be ranked against each other.
std::vector<std::string> ranking_key(const Record& record) {
  const auto text = [&](std::string_view name) { return operators::to_string(record.config.get(name)); };
  const Items items = items_of(record);
  return {text("device"),
          text("dtype"),
          fmt::format("{}", record.threads),
          items.item,
          items.count ? exact(*items.count) : "",
          std::string(name_of(record.measured->cache_policy))};
}

struct Timed {
  std::size_t index;
  double flops;
  double time_s;
  double low_s;
  double high_s;
};

std::map<std::vector<std::string>, std::vector<Timed>> ranking_groups(const std::vector<Record>& records) {
  std::map<std::vector<std::string>, std::vector<Timed>> groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.status == profilers::Status::kOk && record.totals && record.measured && record.measured->time_median_s) {
      const double time_s = *record.measured->time_median_s;
      groups[ranking_key(record)].push_back({i, static_cast<double>(record.totals->work.flops().value()), time_s,
                                             record.measured->time_ci_low_s.value_or(time_s),
                                             record.measured->time_ci_high_s.value_or(time_s)});
    }
  }
  return groups;
}

} // namespace

FlopsAgainstTime flops_against_time(const std::vector<Record>& records) {
  constexpr std::size_t kMostCases = 2000; // pairs grow with the square
  FlopsAgainstTime out;
  double worst_ratio = 0.0;
  for (auto& [key, cases] : ranking_groups(records)) {
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
        const double contradiction =
            std::log(heavy.flops / std::max(light.flops, 1.0)) + std::log(light.time_s / heavy.time_s);
        if (!out.worst || contradiction > worst_ratio) {
          worst_ratio = contradiction;
          out.worst = {light.index, heavy.index};
        }
      }
    }
  }
  return out;
}

namespace {

std::string count_text(std::size_t count, std::size_t whole) {
  return fmt::format("{} of {} cases", count, whole);
}

/// "Memory bandwidth bounds 7 of 12 cases; matrix products bound 5."
std::string bounds_of_cases(const std::vector<Record>& records) {
  std::map<std::string, std::size_t> cases_of_bound;
  std::size_t judged = 0;
  for (const Record& record : records) {
    if (record.status == profilers::Status::kOk && !record.roof.bound.empty()) {
      ++cases_of_bound[record.roof.bound];
      ++judged;
    }
  }
  std::vector<std::pair<std::size_t, std::string>> ordered;
  for (const auto& [bound, count] : cases_of_bound) {
    ordered.emplace_back(count, bound);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const Phrase phrase = phrase_of(ordered[i].second);
    out += i == 0 ? fmt::format("{} {} most of the time of {}", capital(phrase.subject), verb(phrase),
                                count_text(ordered[i].first, judged))
                  : fmt::format("{} {} of {}", i == 1 ? ";" : ",", phrase.subject, ordered[i].first);
  }
  return out.empty() ? "What bounds these cases is unknown: the ceilings of this machine were not measured."
                     : out + ".";
}

/// How far the kernels are from what the machine allows: a bound says little where that is far.
std::string roof_sentence(const std::vector<Record>& records) {
  std::vector<double> fractions;
  for (const Record& record : records) {
    if (record.status == profilers::Status::kOk && record.roof.roof_fraction) {
      fractions.push_back(*record.roof.roof_fraction);
    }
  }
  const auto middle = profilers::median(fractions);
  return middle ? fmt::format(" The median case reaches {} of its roof.", whole_percent(*middle)) : "";
}

std::string flops_sentence(const std::vector<Record>& records) {
  const FlopsAgainstTime found = flops_against_time(records);
  if (found.pairs == 0) {
    return {};
  }
  std::string out =
      fmt::format(" Fewer FLOPs took less time in {} of {} comparable pairs", found.agreeing, found.pairs);
  if (!found.worst) {
    return out + ".";
  }
  const Record& light = records[found.worst->first];
  const Record& heavy = records[found.worst->second];
  const std::vector<std::string> names = short_names(records);
  const auto light_flops = static_cast<double>(light.totals->work.flops().value());
  const auto heavy_flops = static_cast<double>(heavy.totals->work.flops().value());
  return out + fmt::format("; the clearest exception: {} needs {} of the FLOPs of {} and takes {:.1f} times as long.",
                           names[found.worst->first], whole_percent(light_flops / heavy_flops),
                           names[found.worst->second], *light.measured->time_median_s / *heavy.measured->time_median_s);
}

} // namespace

std::string verdict_sentence(const std::vector<Record>& records) {
  if (records.empty()) {
    return "There are no cases.";
  }
  if (records.size() == 1) {
    return verdict_sentence(records.front());
  }
  std::map<std::string, std::size_t> others;
  for (const Record& record : records) {
    if (record.status != profilers::Status::kOk) {
      ++others[std::string(name_of(record.status))];
    }
  }
  std::size_t total = 0;
  std::vector<std::string> parts;
  for (const auto& [status, count] : others) {
    parts.push_back(fmt::format("{} {}", count, status));
    total += count;
  }
  const std::string missing =
      total == 0 ? ""
                 : fmt::format(" {} without result: {}.", count_text(total, records.size()), fmt::join(parts, ", "));
  return total == records.size()
             ? missing.substr(1)
             : bounds_of_cases(records) + roof_sentence(records) + flops_sentence(records) + missing;
}

std::string bound_text(const std::string& bound, bool ambiguous, const std::string& level) {
  if (bound.empty()) {
    return std::string(kAbsentText);
  }
  return fmt::format("{}{}{}", bound, ambiguous ? "?" : "",
                     bound == "memory" && !level.empty() ? " " + level : std::string());
}

std::string bound_text(const profilers::RoofVerdict& roof) {
  return bound_text(roof.bound, is_ambiguous(roof), roof.roof_level);
}

} // namespace attnprof::reports
