#include "reports/console.hpp"

#include "reports/columns.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"
#include "reports/launch_groups.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using operators::Count;
using profilers::Record;

using Rows = std::vector<std::vector<std::string>>;

std::string count_text(Count count, std::string_view unit) {
  return si(static_cast<double>(count.value()), unit);
}

std::string intensity_text(Count flops, Count bytes) {
  return plain(ratio(real(flops), real(bytes)));
}

bool any_ambiguous(const std::vector<LaunchGroup>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.ambiguous; });
}

std::string legend(bool ambiguous) {
  return ambiguous ? fmt::format("? the next bound is within {:.0f} %\n", (kAmbiguousMargin - 1.0) * 100.0) : "";
}

/// Leaves out the column of counts where every group is a single launch.
void drop_counts(std::vector<TextColumn>& columns, Rows& rows, const std::vector<LaunchGroup>& groups,
                 std::ptrdiff_t at) {
  if (std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.count > 1; })) {
    return;
  }
  columns.erase(columns.begin() + at);
  for (auto& row : rows) {
    row.erase(row.begin() + at);
  }
}

std::string times_text(std::size_t count) {
  return fmt::format("x{}", count);
}

/// The case after a title line, unless it has no numbers.
std::string not_run_line(const Record& record) {
  return fmt::format("{}: {}\n", name_of(record.status),
                     record.reason.empty() ? "no reason is recorded" : record.reason);
}

std::string warnings_text(const Record& record) {
  std::string out;
  for (const std::string& warning : all_warnings(record)) {
    out += fmt::format("warning: {}\n", warning);
  }
  return out;
}

} // namespace

std::string ladder_line(const Record& record) {
  using profilers::LevelTraffic;
  if (!record.totals) {
    return {};
  }
  const operators::Totals& totals = *record.totals;
  const auto bytes = real(totals.bytes_read + totals.bytes_written);
  const auto compulsory = real(totals.compulsory_bytes);
  std::string out = fmt::format("bytes: compulsory {}, launches {}", si(compulsory, "B"), si(bytes, "B"));
  if (const auto times = ratio(bytes, compulsory)) {
    out += fmt::format(" (x{:.3g})", *times);
  }
  bool any = false;
  const auto add = [&](const char* level, std::optional<std::int64_t> LevelTraffic::*member) {
    if (const auto moved = modelled(record, member)) {
      out += fmt::format(", to {} {}", level, si(static_cast<double>(*moved), "B"));
      any = true;
    }
  };
  add("L2", &LevelTraffic::l2_bytes);
  add("L3", &LevelTraffic::l3_bytes);
  add("DRAM", &LevelTraffic::dram_bytes);
  out += any ? " by the cache model" : "";
  if (record.measured && record.measured->counters.dram_bytes) {
    out += fmt::format(", read from DRAM {} by {}", si(static_cast<double>(*record.measured->counters.dram_bytes), "B"),
                       record.counter_origin.starts_with("simulated") ? "valgrind" : "counters");
  }
  if (const auto waste = waste_of(totals.work); waste && *waste > 1.0) {
    out += fmt::format("; {} of {} MACs are useful (executed x{:.3g})", percent(1.0 / *waste),
                       count_text(totals.work.macs, ""), *waste);
  }
  return out;
}

std::string cost_table(const Record& record) {
  if (!record.totals) {
    return not_run_line(record);
  }
  std::vector<TextColumn> columns = {{"scope", Align::kLeft},
                                     {"op", Align::kLeft},
                                     {"shape", Align::kLeft},
                                     {"n"},
                                     {"MACs"},
                                     {"FLOPs"},
                                     {"bytes"},
                                     {"FLOP/B"},
                                     {"bound", Align::kLeft},
                                     {"at least"}};
  const std::vector<LaunchGroup> groups = launch_groups(record);
  Rows rows;
  for (const LaunchGroup& group : groups) {
    rows.push_back({group.scope, group.op, group.shape, times_text(group.count), count_text(group.work.macs, "MAC"),
                    count_text(group.work.flops(), "FLOP"), count_text(group.bytes, "B"),
                    intensity_text(group.work.flops(), group.bytes),
                    bound_text(group.bound, group.ambiguous, group.roof_level), seconds(group.roof_time_s)});
  }
  const operators::Totals& totals = *record.totals;
  const Count bytes = totals.bytes_read + totals.bytes_written;
  rows.push_back({"total", "", "", times_text(record.launches.size()), count_text(totals.work.macs, "MAC"),
                  count_text(totals.work.flops(), "FLOP"), count_text(bytes, "B"),
                  intensity_text(totals.work.flops(), bytes), bound_text(record.roof),
                  seconds(record.roof.roof_time_s)});
  drop_counts(columns, rows, groups, 3);
  std::string out = text_table(columns, rows);
  out += fmt::format("parameters {}, weights {}, compulsory traffic {}, peak activations {}{}\n",
                     count_text(totals.params, ""), count_text(totals.weight_bytes, "B"),
                     count_text(totals.compulsory_bytes, "B"), count_text(totals.peak_activation_bytes, "B"),
                     totals.kv_cache_bytes > 0 ? ", KV cache " + count_text(totals.kv_cache_bytes, "B") : "");
  return out + ladder_line(record) + "\n" + legend(any_ambiguous(groups)) + warnings_text(record);
}

namespace {

/// "140 us +-1.4 %"; without an interval the time alone.
std::string time_text(const profilers::Measurement& measured, std::string_view gap) {
  const std::string interval = interval_text(measured);
  return interval == kAbsentText ? seconds(measured.time_median_s)
                                 : fmt::format("{}{}+-{}", seconds(measured.time_median_s), gap, interval);
}

std::string case_rate(const Record& record, std::string_view column, std::string_view unit) {
  const Cell value = case_column(column).get(record);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::string(kAbsentText) : si(*number, unit);
}

std::string group_roof(const LaunchGroup& group) {
  return percent(ratio(group.roof_time_s, group.time_s));
}

/// "1.23 ms +-0.8 % over 120 samples, STABLE; ..."
std::string time_line(const Record& record) {
  const profilers::Measurement& measured = *record.measured;
  std::string out = fmt::format("{}  {} samples", time_text(measured, "  "), measured.samples_s.size());
  if (measured.stability) {
    out += fmt::format("  {}", name_of(*measured.stability));
  }
  out += fmt::format("  {}  {}", case_rate(record, "flops_per_s", "FLOP/s"), case_rate(record, "bytes_per_s", "B/s"));
  const Items items = items_of(record);
  if (items.count) {
    out += fmt::format("  {}", item_rate_text(items, measured.time_median_s));
  }
  if (record.roof.roof_fraction) {
    out += fmt::format("  {} of roof", percent(record.roof.roof_fraction));
  }
  return out + "\n";
}

} // namespace

std::string kernel_table(const Record& record) {
  if (!record.totals || !record.measured) {
    return not_run_line(record);
  }
  std::vector<TextColumn> columns = {{"scope", Align::kLeft},
                                     {"op", Align::kLeft},
                                     {"shape", Align::kLeft},
                                     {"n"},
                                     {"kernel", Align::kLeft},
                                     {"time"},
                                     {"share"},
                                     {"FLOP/s"},
                                     {"B/s"},
                                     {"FLOP/B"},
                                     {"bound", Align::kLeft},
                                     {"of roof"}};
  const std::vector<LaunchGroup> groups = launch_groups(record);
  std::optional<double> whole_s = 0.0;
  for (const LaunchGroup& group : groups) {
    whole_s = whole_s && group.time_s ? std::optional(*whole_s + *group.time_s) : std::nullopt;
  }
  Rows rows;
  for (const LaunchGroup& group : groups) {
    rows.push_back({group.scope, group.op, group.shape, times_text(group.count),
                    group.kernel_impl.empty() ? std::string(kAbsentText) : group.kernel_impl, seconds(group.time_s),
                    percent(ratio(group.time_s, whole_s)), si(ratio(real(group.work.flops()), group.time_s), "FLOP/s"),
                    si(ratio(real(group.bytes), group.time_s), "B/s"), intensity_text(group.work.flops(), group.bytes),
                    bound_text(group.bound, group.ambiguous, group.roof_level), group_roof(group)});
  }
  drop_counts(columns, rows, groups, 3);
  return text_table(columns, rows) + time_line(record) + ladder_line(record) + "\n" + legend(any_ambiguous(groups)) +
         warnings_text(record);
}

namespace {

std::string status_text(const Record& record) {
  if (record.status != profilers::Status::kOk) {
    return fmt::format("{}: {}", name_of(record.status), record.reason);
  }
  const bool unsteady =
      record.measured && record.measured->stability && *record.measured->stability != profilers::Stability::kStable;
  return unsteady ? fmt::format("ok {}", name_of(*record.measured->stability)) : "ok";
}

std::vector<std::string> result_cells(const Record& record) {
  const std::string absent(kAbsentText);
  const auto* measured = record.measured ? &*record.measured : nullptr;
  const auto flops = record.totals ? real(record.totals->work.flops()) : std::optional<double>();
  const auto bytes =
      record.totals ? real(record.totals->bytes_read + record.totals->bytes_written) : std::optional<double>();
  return {measured == nullptr ? absent : seconds(measured->time_median_s),
          measured == nullptr ? absent : interval_text(*measured),
          si(flops, "FLOP"),
          case_rate(record, "flops_per_s", "FLOP/s"),
          plain(ratio(flops, bytes)),
          bound_text(record.roof),
          percent(record.roof.roof_fraction),
          status_text(record)};
}

} // namespace

std::string result_table(const std::vector<Record>& records) {
  const std::vector<TextColumn> columns = {
      {"case", Align::kLeft},  {"time"}, {"+-"}, {"work"}, {"FLOP/s"}, {"FLOP/B"}, {"bound", Align::kLeft}, {"of roof"},
      {"status", Align::kLeft}};
  const std::vector<std::string> names = short_names(records);
  Rows rows;
  bool ambiguous = false;
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::vector<std::string> row = {names[i]};
    for (std::string& text : result_cells(records[i])) {
      row.push_back(std::move(text));
    }
    rows.push_back(std::move(row));
    ambiguous = ambiguous || is_ambiguous(records[i].roof);
  }
  return text_table(columns, rows) + legend(ambiguous);
}

std::string result_line(const Record& record) {
  if (!record.measured) {
    return fmt::format("{}: {}", short_name(record), status_text(record));
  }
  return fmt::format("{}: {}, {}, {} of roof, {}, {}", short_name(record), time_text(*record.measured, " "),
                     case_rate(record, "flops_per_s", "FLOP/s"), percent(record.roof.roof_fraction),
                     bound_text(record.roof), status_text(record));
}

} // namespace attnprof::reports
