// Tables for the terminal.
#pragma once
#include "profilers/record.hpp"
#include "reports/verdict.hpp"

#include <string>
#include <vector>

namespace attnprof::reports {

/// Launches of one case without measurement: scope, op, shape, MACs, FLOPs, bytes, FLOP/B, bound, predicted time;
/// totals in the last line. Bound and time are "-" unless the record went through predict.
std::string cost_table(const profilers::Record& record);
/// Launches of one measured case: scope, op, shape, kernel, time, share, FLOP/s, B/s, bound, % of roof.
std::string kernel_table(const profilers::Record& record);
/// From the bytes that must move to those that cross each border of the caches, and from useful to executed work:
/// "bytes: compulsory 1.2 MB, launches 3.4 MB (x2.8), to L2 3.6 MB, to L3 0 B, to DRAM 0 B by the cache model". Ends
/// without a line break; empty for a record without totals.
std::string ladder_line(const profilers::Record& record);
/// One line a case; the first column holds only the parameters that vary among the records.
std::string result_table(const std::vector<profilers::Record>& records);
/// The line of result_table for one record, for progress while a sweep runs.
std::string result_line(const profilers::Record& record);

} // namespace attnprof::reports
