#pragma once
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// Scripts with their numbers inside, which write roofline.svg, .png and .pdf, and throughput.svg, .png and .pdf (the
/// last two as far as the gnuplot at hand has a terminal for them); empty where there is nothing to draw.
std::string roofline_gnuplot(const ResultSet& results);
std::string throughput_gnuplot(const ResultSet& results);

/// "roofline" and "throughput" with their scripts, those that draw something.
std::vector<Figure> figures_of(const ResultSet& results);

} // namespace attnprof::reports
