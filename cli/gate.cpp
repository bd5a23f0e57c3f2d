#include "cli/gate.hpp"

#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "reports/format.hpp"
#include "reports/schema.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Effect;
using profilers::Record;
using profilers::Status;

constexpr std::string_view kTimeMetric = "time_median_s";
/// Columns that are the median time in another form: its noise is theirs.
constexpr std::string_view kTimed[] = {kTimeMetric, "flops_per_s", "bytes_per_s", "items_per_s", "roof_fraction"};

using Index = std::map<std::string, const Record*, std::less<>>;

Index index_of(const std::vector<Record>& records) {
  Index out;
  for (const Record& record : records) {
    out.emplace(record.id, &record);
  }
  return out;
}

std::optional<double> number(const reports::Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    return static_cast<double>(*whole);
  }
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

bool is_timed(std::string_view metric) {
  return std::find(std::begin(kTimed), std::end(kTimed), metric) != std::end(kTimed);
}

bool larger_is_better(std::string_view metric) {
  return metric.ends_with("_per_s") || metric.ends_with("_fraction");
}

/// Log ratio of the times, from the samples; where none were kept, from the recorded intervals.
std::optional<Effect> time_effect(const Record& before, const Record& after) {
  if (!before.measured || !after.measured) {
    return std::nullopt;
  }
  const profilers::Measurement& a = *before.measured;
  const profilers::Measurement& b = *after.measured;
  if (const auto effect = profilers::unpaired_effect(a.samples_s, b.samples_s)) {
    return effect;
  }
  const auto error = [](const profilers::Measurement& one) -> std::optional<double> {
    if (!one.samples_s.empty() || !one.time_ci_low_s || !one.time_ci_high_s || !(*one.time_ci_low_s > 0)) {
      return std::nullopt;
    }
    constexpr double kNormalWidth = 3.919928; // of a 95 % interval, in standard errors
    return std::log(*one.time_ci_high_s / *one.time_ci_low_s) / kNormalWidth;
  };
  const auto ea = error(a);
  const auto eb = error(b);
  constexpr double kUnknownDegrees = 30;
  return ea && eb ? std::optional(
                        Effect{std::log(*b.time_median_s / *a.time_median_s), std::hypot(*ea, *eb), kUnknownDegrees})
                  : std::nullopt;
}

/// Log ratios of like with like.
std::vector<double> self_test(const std::vector<Record>& records) {
  std::vector<double> out;
  for (const Record& record : records) {
    if (record.status == Status::kOk && record.measured) {
      if (const auto ratio = profilers::halves_log_ratio(record.measured->samples_s)) {
        out.push_back(*ratio);
      }
    }
  }
  return out;
}

std::vector<double> repeated_test(const std::vector<Record>& before, const std::vector<Record>& repeated) {
  const Index again = index_of(repeated);
  std::vector<double> out;
  for (const Record& record : before) {
    const auto match = again.find(record.id);
    if (match != again.end()) {
      if (const auto effect = time_effect(record, *match->second)) {
        out.push_back(effect->log_ratio);
      }
    }
  }
  return out;
}

class Gate {
 public:
  Gate(const GateOptions& options, Comparison& out) : options_(options), out_(out) {
    for (const std::string& metric : out.metrics) {
      columns_.push_back(&reports::case_column(metric));
    }
  }

  void learn_noise(const std::vector<Record>& before, const std::vector<Record>& after,
                   const std::vector<Record>& repeated) {
    out_.threshold = options_.threshold.value_or(kDefaultThreshold);
    if (!is_timed(out_.metrics.front())) {
      out_.threshold = options_.threshold.value_or(0.0);
      return;
    }
    std::vector<double> ratios;
    // Two halves have half the samples each, so that their medians scatter more than those of whole runs.
    double scale = 1;
    if (!repeated.empty()) {
      ratios = repeated_test(before, repeated);
    } else {
      ratios = self_test(before);
      const std::vector<double> more = self_test(after);
      ratios.insert(ratios.end(), more.begin(), more.end());
      scale = 1 / std::sqrt(2.0);
    }
    const auto spread = profilers::spread_about_zero(ratios);
    if (!spread) {
      out_.notes.emplace_back("too few samples for an A/A self-test, so the noise floor is not known");
      return;
    }
    spread_ = *spread * scale;
    out_.self_tests = ratios.size();
    out_.noise_floor = profilers::noise_floor(spread_);
    out_.threshold = usable_threshold(options_.threshold, *out_.noise_floor, out_.self_tests, out_.notes);
  }

  RowChange compare(const Record& before, const Record* after) {
    RowChange row;
    row.id = before.id;
    row.before = value_of(before);
    if (after != nullptr) {
      row.after = value_of(*after);
    }
    if (row.before && row.after && *row.before != 0.0) {
      row.ratio = *row.after / *row.before;
    }
    // Counts are known of cases that never ran.
    const bool counts = options_.kind == GateKind::kCounts;
    const bool was_known = counts ? before.totals.has_value() : before.status == Status::kOk && row.before.has_value();
    const auto is_known = [&] {
      return counts ? after->totals && (before.status != Status::kOk || after->status == Status::kOk)
                    : after->status == Status::kOk && row.after;
    };
    if (!was_known) {
      row.change = Change::kUnmeasured;
    } else if (after == nullptr) {
      row.change = Change::kMissing;
    } else if (!is_known()) {
      row.change = Change::kFailed;
      row.reason = fmt::format("{}: {}", profilers::name_of(after->status),
                               after->reason.empty() ? out_.metrics.front() + " is absent" : after->reason);
    } else if (counts) {
      compare_counts(row, before, *after);
    } else {
      measure(row, before, *after);
    }
    return row;
  }

  RowChange added(const Record& after) const {
    RowChange row;
    row.id = after.id;
    row.change = Change::kNew;
    row.after = value_of(after);
    return row;
  }

  /// Verdicts need the p of all rows.
  void decide() {
    std::vector<double> p;
    for (const auto& [index, effect] : effects_) {
      p.push_back(profilers::difference_p(effect));
    }
    const std::vector<double> adjusted = profilers::holm_adjusted(p);
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      RowChange& row = out_.rows[effects_[i].first];
      row.p = adjusted[i];
      Effect worse = effects_[i].second;
      worse.log_ratio *= larger_is_better(out_.metrics.front()) ? -1 : 1;
      row.change = verdict_of(worse, adjusted[i], out_.threshold);
      const double detectable = std::expm1(
          profilers::detectable_log_ratio(effects_[i].second, kFalseAlarm / static_cast<double>(effects_.size())));
      row.smallest_detectable = detectable;
      if (row.change == Change::kInconclusive) {
        row.reason = fmt::format("too noisy for {}: changes from {} on would be found",
                                 reports::percent(out_.threshold), reports::percent(detectable));
      }
    }
  }

 private:
  std::optional<double> value_of(const Record& record) const { return number(columns_.front()->get(record)); }

  void compare_counts(RowChange& row, const Record& before, const Record& after) const {
    std::vector<std::string> parts;
    for (const reports::CaseColumn* column : columns_) {
      const reports::Cell a = column->get(before);
      const reports::Cell b = column->get(after);
      if (a != b) {
        const auto text = [](const reports::Cell& cell) {
          const std::string value = operators::to_string(cell);
          return value.empty() ? std::string("absent") : value;
        };
        parts.push_back(fmt::format("{} {} -> {}", column->spec.name, text(a), text(b)));
      }
    }
    row.change = parts.empty() ? Change::kSame : Change::kChanged;
    row.reason = fmt::format("{}", fmt::join(parts, ", "));
  }

  void measure(RowChange& row, const Record& before, const Record& after) {
    if (!is_timed(out_.metrics.front())) {
      compare_values(row);
      return;
    }
    if (before.measured && after.measured && before.measured->cache_policy != after.measured->cache_policy) {
      row.change = Change::kInconclusive;
      row.reason =
          fmt::format("measured with --cache {} before and {} now", profilers::name_of(before.measured->cache_policy),
                      profilers::name_of(after.measured->cache_policy));
      return;
    }
    std::optional<Effect> effect = time_effect(before, after);
    if (!effect || !row.ratio || !(*row.ratio > 0)) {
      row.change = Change::kInconclusive;
      const auto count = [](const Record& record) { return record.measured ? record.measured->samples_s.size() : 0; };
      row.reason = fmt::format("not enough samples: {} before and {} now, and {} are needed", count(before),
                               count(after), profilers::kMinIntervalSamples);
      return;
    }
    effect->log_ratio = std::log(*row.ratio);
    effect->standard_error = std::max(effect->standard_error, spread_);
    const profilers::Interval interval = profilers::interval_of(*effect);
    row.interval = profilers::Interval{std::exp(interval.low), std::exp(interval.high)};
    effects_.emplace_back(out_.rows.size(), *effect);
  }

  /// Counts and other columns without a noise of their own.
  void compare_values(RowChange& row) const {
    const bool reversed = larger_is_better(out_.metrics.front());
    const double grown = *row.after - *row.before * (1 + out_.threshold);
    const double shrunk = *row.before - *row.after * (1 + out_.threshold);
    const double worse = reversed ? shrunk : grown;
    const double better = reversed ? grown : shrunk;
    row.change = worse > 0 ? Change::kSlower : better > 0 ? Change::kFaster : Change::kSame;
  }

  const GateOptions& options_;
  Comparison& out_;
  std::vector<const reports::CaseColumn*> columns_;
  double spread_ = 0;                                   ///< of log ratios of like with like
  std::vector<std::pair<std::size_t, Effect>> effects_; ///< by row
};

bool& switch_of(GateOptions& options, std::string_view name) {
  if (name == "regress") {
    return options.fail_on_regress;
  }
  if (name == "missing") {
    return options.fail_on_missing;
  }
  if (name == "fail") {
    return options.fail_on_fail;
  }
  if (name == "inconclusive") {
    return options.fail_on_inconclusive;
  }
  if (name == "implausible") {
    return options.fail_on_implausible;
  }
  const std::string near =
      operators::nearest_name(name, {"regress", "missing", "fail", "inconclusive", "implausible", "none"});
  throw Error(ErrorKind::kUsage,
              fmt::format("--fail-on '{}' is not known{}; there are regress, missing, fail, inconclusive, implausible "
                          "and none",
                          name, near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
}

} // namespace

std::string_view name_of(Change change) {
  switch (change) {
  case Change::kSame: return "SAME";
  case Change::kFaster: return "FASTER";
  case Change::kSlower: return "SLOWER";
  case Change::kInconclusive: return "INCONCLUSIVE";
  case Change::kChanged: return "CHANGED";
  case Change::kMissing: return "MISSING";
  case Change::kFailed: return "FAILED";
  case Change::kNew: return "NEW";
  case Change::kUnmeasured: return "UNMEASURED";
  }
  return {};
}

std::string_view name_of(GateKind kind) {
  return kind == GateKind::kTimes ? "times" : "counts";
}

const std::vector<std::string>& default_counts() {
  static const std::vector<std::string> kCounts = {
      "flops", "bytes", "intensity", "params", "weight_bytes", "kv_cache_bytes", "peak_activation_bytes", "launches"};
  return kCounts;
}

std::vector<std::string> metrics_of(const GateOptions& options) {
  if (!options.metrics.empty()) {
    return options.metrics;
  }
  if (options.kind == GateKind::kCounts) {
    return default_counts();
  }
  return {options.across_machines ? "roof_fraction" : std::string(kTimeMetric)};
}

bool is_count(const std::string& metric) {
  return reports::case_column(metric).spec.group == reports::Group::kTotals;
}

void parse_fail_on(std::string_view text, GateOptions& options) {
  options.fail_on_implausible = false;
  options.fail_on_regress = options.fail_on_missing = options.fail_on_fail = options.fail_on_inconclusive = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (const std::string_view name = text.substr(0, end); name != "none") {
      switch_of(options, name) = true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void check(const GateOptions& options) {
  const std::vector<std::string> metrics = metrics_of(options);
  for (const std::string& metric : metrics) {
    const reports::ColumnSpec& spec = reports::case_column(metric).spec;
    if (spec.type != reports::Type::kInteger && spec.type != reports::Type::kReal) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--metric {} is no number; compare time_median_s or another numeric column", metric));
    }
    if (options.kind == GateKind::kCounts && !is_count(metric)) {
      throw Error(ErrorKind::kUsage, fmt::format("--metric {} is measured, so it cannot be equal: --gate counts takes "
                                                 "{}",
                                                 metric, fmt::join(default_counts(), ", ")));
    }
    if (options.kind == GateKind::kTimes && options.across_machines && metric != "roof_fraction" && !is_count(metric)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--metric {} of unlike machines cannot be compared: with --across-machines take "
                              "roof_fraction, or counts with --gate counts",
                              metric));
    }
  }
  if (options.kind == GateKind::kTimes && metrics.size() > 1) {
    throw Error(ErrorKind::kUsage, fmt::format("--metric takes one column, and {} are given; --gate counts takes "
                                               "several",
                                               metrics.size()));
  }
  if (options.kind == GateKind::kCounts && options.threshold) {
    throw Error(ErrorKind::kUsage, "--threshold does not apply to --gate counts, which demands equal figures: leave "
                                   "one of them out");
  }
}

Change verdict_of(const Effect& worse, double adjusted_p, double threshold) {
  const double margin = std::log1p(threshold);
  if (adjusted_p <= kFalseAlarm && std::abs(worse.log_ratio) > margin) {
    return worse.log_ratio > 0 ? Change::kSlower : Change::kFaster;
  }
  return profilers::equivalence_p(worse, margin) <= kFalseAlarm ? Change::kSame : Change::kInconclusive;
}

double usable_threshold(std::optional<double> asked, double noise_floor, std::size_t self_tests,
                        std::vector<std::string>& notes) {
  const double threshold = asked.value_or(kDefaultThreshold);
  if (!(noise_floor > threshold)) {
    return threshold;
  }
  if (asked) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--threshold {} is below the noise floor, {} by an A/A self-test of {} comparisons of like "
                            "with like: take a larger one, measure longer (--min-time) or on a quieter machine, or "
                            "compare what does not vary with --gate counts",
                            reports::percent(threshold), reports::percent(noise_floor), self_tests));
  }
  notes.push_back(fmt::format("the threshold is raised from {} to {}, the noise floor (A/A self-test of {} comparisons "
                              "of like with like)",
                              reports::percent(threshold), reports::percent(noise_floor), self_tests));
  return noise_floor;
}

Comparison compare_records(const std::vector<Record>& before, const std::vector<Record>& after,
                           const GateOptions& options, const std::vector<Record>& repeated) {
  check(options);
  Comparison out;
  out.kind = options.kind;
  out.metrics = metrics_of(options);
  Gate gate(options, out);
  if (options.kind == GateKind::kTimes) {
    gate.learn_noise(before, after, repeated);
  }
  Index found = index_of(after);
  for (const Record& record : before) {
    const auto match = found.find(record.id);
    RowChange row = gate.compare(record, match == found.end() ? nullptr : match->second);
    out.rows.push_back(std::move(row));
    if (match != found.end()) {
      found.erase(match);
    }
  }
  for (const Record& record : after) {
    if (found.contains(record.id)) {
      out.rows.push_back(gate.added(record));
    }
  }
  gate.decide();
  return out;
}

bool fails(Change change, const GateOptions& options) {
  switch (change) {
  case Change::kSlower:
  case Change::kChanged: return options.fail_on_regress;
  case Change::kFailed: return options.fail_on_fail;
  case Change::kMissing: return options.fail_on_missing;
  case Change::kInconclusive: return options.fail_on_inconclusive;
  case Change::kSame:
  case Change::kFaster:
  case Change::kNew:
  case Change::kUnmeasured: return false;
  }
  return false;
}

int gate_exit_code(const Comparison& comparison, const GateOptions& options) {
  const std::pair<Change, int> codes[] = {{Change::kSlower, kExitRegression},
                                          {Change::kChanged, kExitRegression},
                                          {Change::kFailed, kExitRowFailed},
                                          {Change::kMissing, kExitRowMissing},
                                          {Change::kInconclusive, kExitInconclusive}};
  for (const auto& [change, code] : codes) {
    const bool any = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                 [kind = change](const RowChange& row) { return row.change == kind; });
    if (any && fails(change, options)) {
      return code;
    }
  }
  return kExitOk;
}

} // namespace attnprof::cli
