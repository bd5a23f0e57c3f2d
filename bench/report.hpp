// The result of a run: bars with their verdicts, and every row, as text, JSON and Markdown.
#pragma once

#include "bench/runner.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::bench {

inline constexpr int kSchemaVersion = 1;

struct LibraryRow {
  std::string name, version;
  std::optional<std::string> absent;
};

/// A figure that no bar is for, such as the length from which FLASH beats FLASH-Quad.
struct Remark {
  std::string text;
  std::optional<double> value;
};

/// A figure that needs no clock.
struct CountedRow {
  std::string name;
  ClaimRow claim;
};
/// Bytes that fused attention takes at 8192 tokens over those at 4096: 2 where nothing of tokens x tokens is kept.
CountedRow fused_memory_growth(const std::string& isa);

struct Result {
  std::string machine; ///< processor, cores, caches and instruction set
  std::string isa;
  std::vector<LibraryRow> libraries;
  std::vector<Row> rows;
  std::vector<CountedRow> counted;
  std::vector<Remark> remarks;
  std::optional<double> issue_rate; ///< independent operations a cycle, the most that a core of this run did
  double wall_s = 0;
};

/// One bar's verdict: that of its worst row that had its cores to itself. Absent figure: nothing was measured, because
/// the machine lacks what the bar needs or because the filter left its rows out.
struct BarRow {
  const Bar* bar = nullptr;
  std::optional<double> median_figure, worst_figure;
  std::size_t rows = 0, short_rows = 0;
  std::size_t shared_rows = 0; ///< further rows that had no core to themselves: the verdict rests on the others
  bool all_shared = false;     ///< unless there are no others: it then rests on these
  std::optional<std::string> worst_name;
  std::optional<BarVerdict> verdict; ///< absent: not measured in this run
};
/// `has_avx512`, `has_bf16`: what the machine can.
std::vector<BarRow> bar_rows(const Result& result, bool has_avx512, bool has_bf16);

std::string row_text(const Row& row);
std::string bars_text(const std::vector<BarRow>& bars);
/// A sentence on how much of the run had its cores to itself; empty where that cannot be told.
std::string core_text(const Result& result);
/// The table that the README shows.
std::string bars_markdown(const Result& result, const std::vector<BarRow>& bars);
nlohmann::ordered_json to_json(const Result& result, const std::vector<BarRow>& bars);

} // namespace attnprof::bench
