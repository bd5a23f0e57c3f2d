// The column table: every figure that any report shows, once. CSV, JSON, Markdown, HTML, the JSON Schema and
// docs/columns.md are made from it.
#pragma once
#include "operators/core/param.hpp"
#include "profilers/record.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

/// Grows when a key changes its meaning or vanishes; new keys do not count. Readers refuse other versions.
inline constexpr int kSchemaVersion = 1;

/// Where a column stands in the JSON of a case: at the top, or in config, totals, kernels[], measured (kMeasured,
/// kRoof).
enum class Group { kCase, kConfig, kTotals, kKernel, kMeasured, kRoof };
enum class Type { kText, kTextList, kInteger, kReal, kFlag };
/// Where a number comes from (R4).
enum class Origin {
  kRequest,    ///< asked for, or decided by the program
  kClosedForm, ///< counted exactly
  kModel,      ///< counted under a stated assumption (each operand crosses the launch boundary once)
  kTimer,      ///< a clock of the host or the device
  kCounter,    ///< of the processor or the operating system
  kSpec,       ///< from a data sheet or given on the command line
  kDerived,    ///< computed from other columns
};
std::string_view name_of(Group group);
std::string_view name_of(Type type);
std::string_view name_of(Origin origin);

/// Monostate: absent.
using Cell = operators::Value;

struct ColumnSpec {
  std::string name;
  std::string unit; ///< "s", "FLOP/s", "B", "FLOP/B", "1": a ratio; empty for text
  Group group = Group::kCase;
  Type type = Type::kText;
  Origin origin = Origin::kRequest;
  std::string definition; ///< one sentence
  std::string formula;    ///< empty where it is not computed from other columns
};
struct CaseColumn {
  ColumnSpec spec;
  std::function<Cell(const profilers::Record&)> get;
  std::string profilers::Record::*text = nullptr; ///< what `get` copies, where it is a text of the record
};
struct KernelColumn {
  ColumnSpec spec;
  std::function<Cell(const profilers::Record&, std::size_t launch)> get;
};

/// Columns of results.csv in order: case, config, totals, measured, roof. The config column `threads` is left out,
/// since the measured column `threads` (used) has its name; what was asked for stands in the JSON config.
const std::vector<CaseColumn>& case_columns();
/// Columns of kernels.csv in order: the id of the case, then those of JSON's kernels[].
const std::vector<KernelColumn>& kernel_columns();

/// Throws operators::Error(kUsage) that names the nearest column.
const CaseColumn& case_column(std::string_view name);

/// Warnings of the record and of its measurement, each once.
std::vector<std::string> all_warnings(const profilers::Record& record);
/// Cell of a text list: its entries joined by "; ".
std::string join_list(const std::vector<std::string>& entries);

/// docs/columns.md, made from the table.
std::string columns_markdown();
/// The JSON Schema (draft 2020-12) of cases documents and record lines, made from the table.
std::string json_schema_text();

} // namespace attnprof::reports
