#pragma once
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// Scripts with their numbers inside, which write roofline.svg and throughput.svg; empty where there is nothing to
/// draw.
std::string roofline_gnuplot(const ResultSet& results);
std::string throughput_gnuplot(const ResultSet& results);

} // namespace attnprof::reports
