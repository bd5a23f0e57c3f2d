#include "reports/verdict.hpp"

#include "profilers/statistics.hpp"
#include "reports/columns.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"
#include "reports/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

using profilers::Record;

constexpr std::string_view kUnexplainedBound = "unexplained";

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
  if (bound == kUnexplainedBound) {
    return {"no roof", false};
  }
  return bound == "transcendental" ? Phrase{"exponentials", true} : Phrase{"launch overhead", false};
}

/// No roof bounds what is unexplained; saying that it "explains" it leaves open what does.
std::string verb(const std::string& bound) {
  return bound == kUnexplainedBound ? "explains" : phrase_of(bound).plural ? "bound" : "bounds";
}

/// Largest first; equal ones by name.
template <class Amount>
std::vector<std::string> by_amount(const std::map<std::string, Amount>& amounts, Amount least) {
  std::vector<std::pair<std::string, Amount>> ordered(amounts.begin(), amounts.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> out;
  for (const auto& [name, amount] : ordered) {
    if (amount >= least) {
      out.push_back(name);
    }
  }
  return out;
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

bool all_launches_took_time(const Record& record) {
  return std::all_of(record.launches.begin(), record.launches.end(),
                     [](const auto& launch) { return launch.time_median_s && *launch.time_median_s > 0.0; });
}

/// Time under a bound by whatever `name` makes of a launch; those with less than a fifth of it are left out.
template <class Name>
std::vector<std::string> main_parts(const Record& record, const std::string& bound, Name name) {
  const bool measured = all_launches_took_time(record);
  std::map<std::string, double> times;
  double whole = 0.0;
  for (std::size_t i = 0; i < record.launch_roofs.size(); ++i) {
    if (record.launch_roofs[i].bound == bound) {
      times[name(i)] += weight(record, i, measured);
      whole += weight(record, i, measured);
    }
  }
  std::vector<std::string> out = by_amount(times, 0.2 * whole);
  out.resize(std::min<std::size_t>(out.size(), 2));
  return out;
}

/// "memory bandwidth of DRAM" where memory bounds.
std::string subject_of(const Record& record, const std::string& bound) {
  std::string out = phrase_of(bound).subject;
  if (bound == "memory") {
    const auto levels = main_parts(record, bound, [&](std::size_t i) { return record.launch_roofs[i].roof_level; });
    out += fmt::format(" of {}", fmt::join(levels, " and "));
  }
  return out;
}

/// " (softmax and copies)": the one or two primitives with most time under a bound.
std::string ops_text(const Record& record, const std::string& bound) {
  const auto ops = main_parts(record, bound, [&](std::size_t i) { return plural_of(record.launches[i].cost.op); });
  // "matrix products (matrix products)" would say it twice.
  const bool says_nothing = ops.empty() || (ops.size() == 1 && ops[0] == phrase_of(bound).subject);
  return says_nothing ? "" : fmt::format(" ({})", fmt::join(ops, " and "));
}

std::string whole_percent(double share) {
  return fmt::format("{:.0f} %", share * 100.0);
}

/// Why no roof is known.
std::string no_ceilings(const Record& record) {
  const std::string device = operators::to_string(record.config.get("device"));
  return device.empty() || device == "cpu"
             ? "the ceilings of this machine were not measured"
             : fmt::format("no ceilings of a {} device are known here (--hw names some)", device);
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
    return fmt::format("What bounds {} is unknown: {}.", short_name(record), no_ceilings(record));
  }
  const std::string of_what = fmt::format(
      "the {} of {}", all_launches_took_time(record) ? "launch time" : "predicted time", short_name(record));
  std::string out;
  for (std::size_t i = 0; i < shares.size() && i < 3 && (i == 0 || shares[i].share >= 0.05); ++i) {
    const std::string& bound = shares[i].bound;
    const std::string subject = subject_of(record, bound);
    out += fmt::format("{}{} {} {}{}{}", i == 0 ? "" : "; ", i == 0 ? capital(subject) : subject, verb(bound),
                       whole_percent(shares[i].share), i == 0 ? " of " + of_what : "", ops_text(record, bound));
  }
  if (record.roof.roof_fraction) {
    out += fmt::format("; the case reaches {} of its roof", percent(record.roof.roof_fraction));
    const bool says_so = shares[0].bound == record.roof.bound;
    out += *record.roof.roof_fraction < kUnexplainedFraction && record.roof.bound == kUnexplainedBound
               ? ": neither arithmetic nor memory explains its time"
           : record.roof.bound == "overhead" && !says_so ? ": launch overhead accounts for most of the rest"
                                                         : "";
  }
  return out + ".";
}

namespace {

std::string count_text(std::size_t count, std::size_t whole) {
  return fmt::format("{} of {} cases", count, whole);
}

struct BoundCases {
  std::size_t cases = 0;
  std::map<std::string, std::size_t> levels; ///< of memory
};

/// " (DRAM 4, L2 2)"
std::string levels_text(const BoundCases& one) {
  std::vector<std::string> out;
  for (const std::string& level : by_amount(one.levels, std::size_t{1})) {
    out.push_back(fmt::format("{} {}", level, one.levels.at(level)));
  }
  return out.empty() ? "" : fmt::format(" ({})", fmt::join(out, ", "));
}

/// "Memory bandwidth bounds most of the launch time of 7 of 12 cases (DRAM 4, L2 3); matrix products of 5." Levels are
/// told where memory bounds.
std::string bounds_of_cases(const std::vector<Record>& records) {
  std::map<std::string, BoundCases> found;
  std::map<std::string, std::size_t> counts;
  std::size_t judged = 0;
  bool timed = true;
  for (const Record& record : records) {
    if (record.status == profilers::Status::kOk && !record.roof.bound.empty()) {
      BoundCases& one = found[record.roof.bound];
      counts[record.roof.bound] = ++one.cases;
      if (record.roof.bound == "memory") {
        ++one.levels[record.roof.roof_level];
      }
      timed = timed && all_launches_took_time(record);
      ++judged;
    }
  }
  std::string out;
  for (const std::string& bound : by_amount(counts, std::size_t{1})) {
    const std::string subject = phrase_of(bound).subject;
    out += out.empty() ? fmt::format("{} {} most of the {} of {}", capital(subject), verb(bound),
                                     timed ? "launch time" : "time", count_text(counts[bound], judged))
                       : fmt::format("; {} {} that of {}", subject, verb(bound), counts[bound]);
    out += levels_text(found[bound]);
    out += bound == kUnexplainedBound
               ? fmt::format(", in launches that reach less than {} of theirs", whole_percent(kUnexplainedFraction))
               : "";
  }
  if (!out.empty()) {
    return out + ".";
  }
  const auto ok = std::find_if(records.begin(), records.end(),
                               [](const Record& record) { return record.status == profilers::Status::kOk; });
  return fmt::format("What bounds these cases is unknown: {}.", no_ceilings(ok == records.end() ? records[0] : *ok));
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
  const std::string left_out =
      found.unsteady == 0 ? ""
                          : fmt::format("{} {} too unsteady to be compared", count_text(found.unsteady, records.size()),
                                        found.unsteady == 1 ? "is" : "are");
  if (found.pairs == 0) {
    return left_out.empty() ? "" : fmt::format(" {}.", left_out);
  }
  std::string out = fmt::format(" Fewer FLOPs took less time in {} of {} pairs of equal layout, plan and shape{}",
                                found.agreeing, found.pairs, left_out.empty() ? "" : fmt::format(" ({})", left_out));
  if (found.contradictions.empty()) {
    return out + ".";
  }
  const auto [light_index, heavy_index] = found.contradictions.front();
  const Record& light = records[light_index];
  const Record& heavy = records[heavy_index];
  const std::vector<std::string> names = short_names(records, {light_index, heavy_index});
  const auto light_flops = static_cast<double>(light.totals->work.flops().value());
  const auto heavy_flops = static_cast<double>(heavy.totals->work.flops().value());
  return out + fmt::format("; the clearest exception: {} needs {} of the FLOPs of {} and takes {:.1f} times as long.",
                           names[0], whole_percent(light_flops / heavy_flops), names[1],
                           *light.measured->time_median_s / *heavy.measured->time_median_s);
}

} // namespace

namespace {

std::string sentence_of(const std::vector<Record>& records, bool compares_flops) {
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
  return total == records.size() ? missing.substr(1)
                                 : bounds_of_cases(records) + roof_sentence(records) +
                                       (compares_flops ? flops_sentence(records) : "") + missing;
}

} // namespace

std::string verdict_sentence(const std::vector<Record>& records) {
  return sentence_of(records, true);
}
std::string bounds_sentence(const std::vector<Record>& records) {
  return sentence_of(records, false);
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
