#pragma once
#include "profilers/record.hpp"
#include "reports/schema.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

/// One field of RFC 4180: quoted where it holds a comma, a quote, a line end, or blanks at its ends.
std::string csv_field(std::string_view text);

/// Lines of chosen columns of the table of cases.
class CaseLines {
 public:
  explicit CaseLines(std::vector<const CaseColumn*> columns) : columns_(std::move(columns)) {}
  void append_header(std::string& out) const;
  void append(const profilers::Record& record, std::string& out) const;

 private:
  std::vector<const CaseColumn*> columns_;
};

/// results.csv: a row a case. The header is the column table, whatever the records hold (BUG-178); absent values are
/// empty cells; lines end with "\n" (RFC 4180 allows readers to take it, and text tools want it).
std::string results_csv(const std::vector<profilers::Record>& records);
/// kernels.csv: a row a launch.
std::string kernels_csv(const std::vector<profilers::Record>& records);

} // namespace attnprof::reports
