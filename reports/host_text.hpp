// The machine in words, for the head of every report.
#pragma once
#include "reports/result_set.hpp"

#include <string>
#include <utility>
#include <vector>

namespace attnprof::reports {

/// "AMD EPYC 9B45, 2 threads, avx2, virtual machine, governor unknown"; says so where no machine is known.
std::string host_line(const ResultSet& results);

/// Version, compiler, timer and the like: name and value.
std::vector<std::pair<std::string, std::string>> host_facts(const profilers::Machine& machine);

/// One line a ceiling of the most used dtype and thread count, with its origin; bandwidths are those of the kind of
/// traffic that resembles the cases: "multiply-add (fma f32 avx2, 2
/// threads): 220 GFLOP/s, measured". Empty without a machine.
std::vector<std::string> ceiling_lines(const ResultSet& results);

} // namespace attnprof::reports
