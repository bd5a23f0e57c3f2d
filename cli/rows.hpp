// What a list of finished rows means for the process.
#pragma once

#include "cli/interrupt.hpp"
#include "profilers/record.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace attnprof::cli {

/// "18 cases: 16 ok (2 not verified), 1 skipped, 1 failed"
std::string count_sentence(const std::vector<profilers::Record>& records);

/// 128 + signal after an interrupt; 4 where a row failed or was incorrect; else 0 where a row is ok or --budget left
/// rows out. Where none is ok: 4 with skipped rows, 7 with unsupported ones, 2 where all are invalid.
int rows_exit_code(const std::vector<profilers::Record>& records, const Interrupt& interrupt);

/// Rows that failed or were incorrect, at most ten, and with `every` also those that were not run; a sentence where not
/// one row was measured.
void name_rows(const std::vector<profilers::Record>& records, bool every, std::ostream& err);

/// 3 where a row has a figure that cannot be right (--fail-on implausible), with a sentence for each of the first ten;
/// else 0.
int implausible_exit_code(const std::vector<profilers::Record>& records, std::ostream& err);

/// A line that counts the measured rows whose result was not checked; empty where all were checked.
std::string unverified_sentence(const std::vector<profilers::Record>& records);

} // namespace attnprof::cli
