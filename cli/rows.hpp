// What a list of finished rows means for the process.
#pragma once

#include "cli/interrupt.hpp"
#include "profilers/record.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace attnprof::cli {

/// "18 cases: 16 ok, 1 skipped, 1 failed"
std::string count_sentence(const std::vector<profilers::Record>& records);

/// 128 + signal after an interrupt; 4 where a row failed or was incorrect; else 0. Rows that are not ok are named on
/// `err`, at most ten.
int rows_exit_code(const std::vector<profilers::Record>& records, const Interrupt& interrupt, std::ostream& err);

} // namespace attnprof::cli
