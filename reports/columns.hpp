// The parts of the column table, one function a group, and the shorthands they are written with.
#pragma once
#include "reports/schema.hpp"

#include <optional>

namespace attnprof::reports {

std::vector<CaseColumn> identity_columns();
std::vector<CaseColumn> config_columns();
std::vector<CaseColumn> totals_columns();
std::vector<CaseColumn> measured_columns();
std::vector<CaseColumn> device_columns();
std::vector<CaseColumn> roof_columns();
std::vector<CaseColumn> closing_columns();
std::vector<KernelColumn> launch_columns();
std::vector<KernelColumn> device_launch_columns();

/// A column of the cache model: of a launch in kernels.csv, summed over the launches in results.csv.
struct ModelledColumn {
  std::string name;
  std::string definition;
  std::optional<std::int64_t> profilers::LevelTraffic::*member;
};
const std::vector<ModelledColumn>& modelled_columns();

/// Sum over the launches of what the cache model says; absent where a launch lacks it.
std::optional<std::int64_t> modelled(const profilers::Record& record,
                                     std::optional<std::int64_t> profilers::LevelTraffic::*member);

inline Cell cell(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}
inline Cell cell(operators::Count count) {
  return count.value();
}
inline Cell cell(std::optional<std::int64_t> value) {
  return value ? Cell(*value) : Cell();
}
/// Absent for NaN and infinities: they are no numbers.
Cell cell(std::optional<double> value);

/// a / b; absent where either is absent or b is not positive (BUG-100).
std::optional<double> ratio(std::optional<double> a, std::optional<double> b);
inline std::optional<double> real(operators::Count count) {
  return static_cast<double>(count.value());
}

/// Executed over useful multiply-adds: 1 where nothing is masked or padded; absent where there are none.
std::optional<double> waste_of(const operators::Work& work);

/// What a case processes in one run: images where it has a grid, else tokens; absent where batch or seq_len are
/// unknown.
struct Items {
  std::string item;
  std::optional<double> count;
};
Items items_of(const profilers::Record& record);
/// "6.82 k images/s"; "-" where either is absent.
std::string item_rate_text(const Items& items, std::optional<double> time_s);

/// Half the width of the median's interval relative to it: "1.4 %"; ">100 %" where the median is hardly known at all,
/// "-" where there is no interval.
std::string interval_text(const profilers::Measurement& measured);

} // namespace attnprof::reports
