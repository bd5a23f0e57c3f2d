#include "bench/report.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::bench {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

bool applies(const Bar& bar, bool has_avx512, bool has_bf16) {
  return bar.needs == Needs::kNothing || (bar.needs == Needs::kAvx512 && has_avx512) ||
         (bar.needs == Needs::kBf16 && has_bf16);
}

std::string verdict_text(const BarRow& row) {
  return row.verdict ? fmt::format("{}{}", name_of(*row.verdict), row.all_shared ? ", core shared" : "")
                     : "not measured";
}
std::string short_text(const BarRow& row) {
  return row.rows == 0
             ? "-"
             : fmt::format("{} of {}{}", row.short_rows, row.rows,
                           row.shared_rows == 0 ? "" : fmt::format(" ({} more on a shared core)", row.shared_rows));
}
std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}
std::string bound(const Bar& bar, double value) {
  return fmt::format("{} {:.2f}", bar.at_most ? "<=" : ">=", value);
}

Json json_of(const Row& row) {
  Json out{{"name", row.name},
           {"dtype", row.dtype},
           {"threads", row.threads},
           {"impl", row.impl},
           {"time_median_s", row.time_median_s},
           {"amount", row.amount},
           {"unit", row.unit},
           {"rate", row.amount / row.time_median_s},
           {"limit", row.limit},
           {"limit_rate", row.limit_rate},
           {"share_of_limit", row.share},
           {"reference", or_null(row.reference)},
           {"time_over_reference", or_null(row.time_over_reference)},
           {"peers", Json::array()},
           {"claims", Json::array()},
           {"rounds", row.rounds},
           {"whole_rounds", row.whole_rounds}};
  for (const PeerRow& peer : row.peers) {
    out["peers"].push_back(
        {{"name", peer.name}, {"time_over_ours", peer.time_over_ours}, {"agrees", or_null(peer.agrees)}});
  }
  for (const ClaimRow& claim : row.claims) {
    out["claims"].push_back({{"bar", claim.bar},
                             {"figure", claim.figure},
                             {"verdict", name_of(claim.verdict)},
                             {"core_shared", claim.core_shared}});
  }
  return out;
}

Json json_of(const BarRow& row) {
  return {{"name", row.bar->name},
          {"text", row.bar->text},
          {"comparison", row.bar->at_most ? "at most" : "at least"},
          {"bar", row.bar->bar},
          {"aim", or_null(row.bar->aim)},
          {"figure", or_null(row.worst_figure)},
          {"median_figure", or_null(row.median_figure)},
          {"worst_row", or_null(row.worst_name)},
          {"rows", row.rows},
          {"short_rows", row.short_rows},
          {"shared_rows", row.shared_rows},
          {"all_shared", row.all_shared},
          {"verdict", row.verdict ? Json(name_of(*row.verdict)) : Json(nullptr)}};
}

} // namespace

CountedRow fused_memory_growth(const std::string& isa) {
  const auto bytes = [&](std::int64_t tokens) {
    const operators::ExecOptions options{1, isa, 1, operators::Products::kByRule};
    return static_cast<double>(operators::make_cpu_executor()->memory_bytes(fused_core(tokens), options).value());
  };
  const double growth = bytes(8192) / bytes(4096);
  return {"fused attention h1 d64, n8192 over n4096",
          {"attention-memory", growth, verdict_on(find_bar("attention-memory"), growth)}};
}

namespace {

struct Claimed {
  std::string name;
  ClaimRow claim;
};
std::vector<Claimed> claimed_of(const Bar& bar, const Result& result) {
  std::vector<Claimed> out;
  const auto take = [&](const std::string& name, const ClaimRow& claim) {
    if (claim.bar == bar.name) {
      out.push_back({name, claim});
    }
  };
  for (const Row& row : result.rows) {
    for (const ClaimRow& claim : row.claims) {
      take(fmt::format("{}{}", row.name, row.threads > 1 ? ", 2 threads" : ""), claim);
    }
  }
  for (const CountedRow& row : result.counted) {
    take(row.name, row.claim);
  }
  return out;
}

BarRow bar_row(const Bar& bar, std::vector<Claimed> claimed) {
  BarRow out;
  out.bar = &bar;
  const auto shared = static_cast<std::size_t>(
      std::count_if(claimed.begin(), claimed.end(), [](const Claimed& one) { return one.claim.core_shared; }));
  out.all_shared = shared > 0 && shared == claimed.size();
  if (!out.all_shared) {
    out.shared_rows = shared;
    std::erase_if(claimed, [](const Claimed& one) { return one.claim.core_shared; });
  }
  std::vector<double> figures;
  for (const Claimed& one : claimed) {
    figures.push_back(one.claim.figure);
    out.short_rows += one.claim.verdict == BarVerdict::kShort ? 1 : 0;
    if (one.claim.figure == worst_figure(bar, figures)) {
      out.worst_name = one.name;
    }
  }
  out.rows = figures.size();
  out.worst_figure = worst_figure(bar, figures);
  out.median_figure = profilers::median(figures);
  return out;
}

} // namespace

std::vector<BarRow> bar_rows(const Result& result, bool has_avx512, bool has_bf16) {
  std::vector<BarRow> out;
  for (const Bar& bar : all_bars()) {
    BarRow row = bar_row(bar, claimed_of(bar, result));
    if (!applies(bar, has_avx512, has_bf16)) {
      row.verdict = BarVerdict::kNotApplicable;
    } else if (row.worst_figure) {
      row.verdict = verdict_on(bar, *row.worst_figure);
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::string row_text(const Row& row) {
  std::string out = fmt::format("{:<34} {:>4} {} thr {:>10.1f} us {:>7.1f} G{:<6} {:>4.0f} % of {:<8}", row.name,
                                row.dtype, row.threads, row.time_median_s * 1e6, row.amount / row.time_median_s * 1e-9,
                                row.unit, 100.0 * row.share, row.limit);
  if (row.time_over_reference) {
    out += fmt::format("  {:.2f} of {}", *row.time_over_reference, *row.reference);
  }
  for (const PeerRow& peer : row.peers) {
    out += fmt::format("  {}: {:.2f}{}", peer.name, peer.time_over_ours,
                       peer.agrees.value_or(true) ? "" : " (result differs)");
  }
  for (const ClaimRow& claim : row.claims) {
    if (claim.verdict == BarVerdict::kShort) {
      out += fmt::format("  [short: {} {:.2f}]", claim.bar, claim.figure);
    }
  }
  if (row.core_shared()) {
    out += "  [core shared]";
  }
  return out + '\n';
}

std::string bars_text(const std::vector<BarRow>& bars) {
  std::string out = fmt::format("{:<82} {:>7} {:>7} {:>8} {:>5}  {:<20} {}\n", "bar", "worst", "median", "bar", "aim",
                                "verdict", "short rows; worst row");
  for (const BarRow& row : bars) {
    out += fmt::format("{:<82} {:>7} {:>7} {:>8} {:>5}  {:<20} {}\n", row.bar->text, number(row.worst_figure),
                       number(row.median_figure), bound(*row.bar, row.bar->bar), number(row.bar->aim),
                       verdict_text(row), row.rows == 0 ? "" : fmt::format("{}; {}", short_text(row), *row.worst_name));
  }
  return out;
}

std::string core_text(const Result& result) {
  if (!result.issue_rate) {
    return "";
  }
  std::size_t rounds = 0;
  std::size_t whole = 0;
  std::size_t shared_rows = 0;
  for (const Row& row : result.rows) {
    rounds += row.rounds;
    whole += row.whole_rounds;
    shared_rows += row.core_shared() ? 1 : 0;
  }
  const double share = rounds == 0 ? 1.0 : static_cast<double>(whole) / static_cast<double>(rounds);
  return fmt::format(
      "cores: {:.1f} independent operations a cycle at best{}; {:.0f} % of the rounds of ours and the limit "
      "had theirs to themselves, the others are left out; rows with fewer than {} such rounds, which rest "
      "on all: {}\n",
      *result.issue_rate, *result.issue_rate < profilers::kHalfCoreRate ? " (shared throughout, or narrow)" : "",
      100.0 * share, kFewestWhole, shared_rows);
}

std::string bars_markdown(const Result& result, const std::vector<BarRow>& bars) {
  std::string out = fmt::format("{}\n\n| figure | worst row | median | bar | aim | verdict | rows short |\n"
                                "|---|---|---|---|---|---|---|\n",
                                result.machine);
  for (const BarRow& row : bars) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.bar->text, number(row.worst_figure),
                       number(row.median_figure), bound(*row.bar, row.bar->bar), number(row.bar->aim),
                       verdict_text(row), short_text(row));
  }
  return out;
}

Json to_json(const Result& result, const std::vector<BarRow>& bars) {
  Json out{{"schema_version", kSchemaVersion},
           {"machine", result.machine},
           {"isa", result.isa},
           {"libraries", Json::array()},
           {"bars", Json::array()},
           {"rows", Json::array()},
           {"counted", Json::array()},
           {"remarks", Json::array()},
           {"probe_ops_per_cycle", or_null(result.issue_rate)},
           {"wall_s", result.wall_s}};
  for (const LibraryRow& library : result.libraries) {
    out["libraries"].push_back({{"name", library.name},
                                {"version", library.version.empty() ? Json(nullptr) : Json(library.version)},
                                {"absent", or_null(library.absent)}});
  }
  for (const BarRow& row : bars) {
    out["bars"].push_back(json_of(row));
  }
  for (const Row& row : result.rows) {
    out["rows"].push_back(json_of(row));
  }
  for (const CountedRow& row : result.counted) {
    out["counted"].push_back({{"name", row.name},
                              {"bar", row.claim.bar},
                              {"figure", row.claim.figure},
                              {"verdict", name_of(row.claim.verdict)}});
  }
  for (const Remark& remark : result.remarks) {
    out["remarks"].push_back({{"text", remark.text}, {"value", or_null(remark.value)}});
  }
  return out;
}

} // namespace attnprof::bench
