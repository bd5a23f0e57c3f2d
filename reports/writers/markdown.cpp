#include "reports/writers/markdown.hpp"

#include "reports/columns.hpp"
#include "reports/format.hpp"
#include "reports/host_text.hpp"
#include "reports/launch_groups.hpp"
#include "reports/verdict.hpp"
#include "reports/warning_groups.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using profilers::Record;

constexpr std::size_t kSlowestKernels = 15;
constexpr std::size_t kMostWarnings = 50;

std::string escaped(std::string_view text) {
  return escape_markdown(text);
}

std::string row(const std::vector<std::string>& cells) {
  std::vector<std::string> texts;
  for (const std::string& text : cells) {
    texts.push_back(escaped(text));
  }
  return fmt::format("| {} |\n", fmt::join(texts, " | "));
}

std::string head(const std::vector<std::string>& names, std::size_t left) {
  std::string rule = "|";
  for (std::size_t i = 0; i < names.size(); ++i) {
    rule += i < left ? " :--- |" : " ---: |";
  }
  return row(names) + rule + "\n";
}

bool has_result(const Record& record) {
  return record.status == profilers::Status::kOk && record.measured;
}

std::string cases_section(const std::vector<Record>& records) {
  const std::vector<std::string> params = telling_params(records);
  std::vector<std::string> names = params;
  for (const char* name :
       {"time", "±", "work (FLOP)", "FLOP/s", "items/s", "intensity (FLOP/B)", "of roof", "bound", "verdict"}) {
    names.emplace_back(name);
  }
  std::string out = "\n## Cases\n\n" + head(names, params.size());
  bool any = false;
  for (const Record& record : records) {
    if (!has_result(record) || !record.totals) {
      continue;
    }
    any = true;
    std::vector<std::string> cells;
    for (const std::string& param : params) {
      const std::string value = operators::to_string(record.config.get(param));
      cells.push_back(value.empty() ? std::string(kAbsentText) : value);
    }
    const auto time_s = record.measured->time_median_s;
    const auto flops = real(record.totals->work.flops());
    const Items items = items_of(record);
    const auto bytes = real(record.totals->bytes_read + record.totals->bytes_written);
    for (std::string text :
         {seconds(time_s), interval_text(*record.measured), si(flops, "FLOP"), si(ratio(flops, time_s), "FLOP/s"),
          item_rate_text(items, time_s), plain(ratio(flops, bytes)), percent(record.roof.roof_fraction),
          bound_text(record.roof),
          record.measured->stability ? std::string(name_of(*record.measured->stability)) : std::string(kAbsentText)}) {
      cells.push_back(std::move(text));
    }
    out += row(cells);
  }
  return any ? out : "";
}

/// What must move, what the launches move, and what reaches each level; executed over useful work.
std::string bytes_section(const std::vector<Record>& records, const std::vector<std::string>& names) {
  using profilers::LevelTraffic;
  std::string out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!has_result(record) || !record.totals) {
      continue;
    }
    const auto bytes = real(record.totals->bytes_read + record.totals->bytes_written);
    const auto compulsory = real(record.totals->compulsory_bytes);
    const auto text = [](std::optional<std::int64_t> value) {
      return value ? si(static_cast<double>(*value), "B") : std::string(kAbsentText);
    };
    const auto waste = waste_of(record.totals->work);
    out += row({names[i], si(compulsory, "B"), si(bytes, "B"), plain(ratio(bytes, compulsory)),
                text(modelled(record, &LevelTraffic::l2_bytes)), text(modelled(record, &LevelTraffic::l3_bytes)),
                text(modelled(record, &LevelTraffic::dram_bytes)), text(record.measured->counters.dram_bytes),
                waste ? fmt::format("{:.3g}", *waste) : std::string(kAbsentText)});
  }
  return out.empty() ? ""
                     : "\n## Bytes\n\nTo L2, to L3 and to DRAM are the cache model's, write-backs included; read from "
                       "DRAM is what counters say.\n\n" +
                           head({"case", "compulsory", "launches", "over compulsory", "to L2", "to L3", "to DRAM",
                                 "read from DRAM", "executed over useful MACs"},
                                1) +
                           out;
}

struct Slow {
  std::size_t record;
  LaunchGroup group;
  double share;
};

std::string slowest_section(const std::vector<Record>& records, const std::vector<std::string>& names) {
  std::vector<Slow> all;
  for (std::size_t i = 0; i < records.size(); ++i) {
    double whole_s = 0.0;
    const auto groups = has_result(records[i]) ? launch_groups(records[i]) : std::vector<LaunchGroup>();
    for (const LaunchGroup& group : groups) {
      whole_s += group.time_s.value_or(0.0);
    }
    for (const LaunchGroup& group : groups) {
      if (group.time_s && *group.time_s > 0.0) {
        all.push_back({i, group, *group.time_s / whole_s});
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Slow& a, const Slow& b) { return *a.group.time_s > *b.group.time_s; });
  if (all.empty()) {
    return {};
  }
  std::string out =
      "\n## Slowest kernels\n\n" +
      head({"case", "scope", "op", "kernel", "bound", "time", "of launch time", "FLOP/s", "B/s", "of roof"}, 5);
  for (std::size_t i = 0; i < std::min(all.size(), kSlowestKernels); ++i) {
    const LaunchGroup& group = all[i].group;
    out += row({names[all[i].record], group.scope, group.op, group.kernel_impl,
                bound_text(group.bound, group.ambiguous, group.roof_level), seconds(group.time_s),
                percent(all[i].share), si(ratio(real(group.work.flops()), group.time_s), "FLOP/s"),
                si(ratio(real(group.bytes), group.time_s), "B/s"), percent(ratio(group.roof_time_s, group.time_s))});
  }
  return out;
}

std::string missing_section(const std::vector<Record>& records, const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].status != profilers::Status::kOk) {
      out += row({names[i], std::string(name_of(records[i].status)), records[i].reason});
    }
  }
  return out.empty() ? "" : "\n## Cases without result\n\n" + head({"case", "status", "reason"}, 3) + out;
}

std::string warnings_section(const std::vector<Record>& records, const std::vector<std::string>& names) {
  std::string out;
  std::size_t count = 0;
  for (const WarningGroup& group : warning_groups(records)) {
    if (++count <= kMostWarnings) {
      out += fmt::format("- {}\n", escaped(group_text(group, names)));
    }
  }
  if (count > kMostWarnings) {
    out += fmt::format("- and {} more: see the column `warnings` of results.csv\n", count - kMostWarnings);
  }
  return out.empty() ? "" : "\n## Warnings\n\n" + out;
}

} // namespace

std::string summary_markdown(const ResultSet& results) {
  const std::vector<std::string> names = short_names(results.records);
  std::string out = "# attnprof\n\n";
  out += fmt::format("**Host:** {}\n\n", escaped(host_line(results)));
  out += fmt::format("**Verdict:** {}\n", escaped(verdict_sentence(results.records)));
  const std::vector<std::string> ceilings = ceiling_lines(results);
  if (!ceilings.empty()) {
    out += "\n## Ceilings\n\n";
    for (const std::string& line : ceilings) {
      out += fmt::format("- {}\n", escaped(line));
    }
  }
  return out + cases_section(results.records) + bytes_section(results.records, names) +
         slowest_section(results.records, names) + missing_section(results.records, names) +
         warnings_section(results.records, names);
}

} // namespace attnprof::reports
