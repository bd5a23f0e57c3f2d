// What the charts show, whoever draws them: points, roofs, axis ranges, and what cannot be drawn and why.
#pragma once
#include "reports/result_set.hpp"
#include "reports/roofs.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace attnprof::reports {

struct ChartPoint {
  std::size_t record = 0; ///< index into the result set
  double x = 0;
  double y = 0;
};

/// A case that has no place on logarithmic axes, and why: it is listed below the chart (BUG-100, BUG-101).
struct NotDrawn {
  std::size_t record = 0;
  std::string reason;
};

struct Range {
  double low = 0;
  double high = 0;
};

/// Ceilings that some of the cases are held against.
struct RoofSet {
  std::string device;
  std::string dtype;
  int threads = 1;
  std::size_t cases = 0;
  double bytes_read = 0;    ///< by all of them together
  double bytes_written = 0; ///< the mix decides which bandwidth of a level is drawn
  Roofs roofs;
};
/// "f32, 2 threads", or "cuda f32".
std::string name_of(const RoofSet& set);

/// x: FLOP/B, y: FLOP/s. Ranges hold all points, all ridges and a margin, even for a single point (BUG-102); where
/// nothing is known they are 0.
struct RooflineChart {
  std::vector<ChartPoint> points;
  std::vector<NotDrawn> not_drawn;
  std::vector<RoofSet> roofs; ///< the one with most cases first
  Range x;
  Range y;
};
RooflineChart roofline_chart(const ResultSet& results);

/// The points of one kind of item on which nothing that does as much work is faster, by growing work: images and tokens
/// do not compare.
struct Front {
  std::string item;
  std::vector<std::size_t> points; ///< indices into the chart's points
};

/// x: FLOP per item, y: items per second.
struct ThroughputChart {
  std::vector<ChartPoint> points;
  std::vector<Front> fronts;
  std::vector<NotDrawn> not_drawn;
  std::string item; ///< "image", "token", or "item" where the cases differ
  Range x;
  Range y;
};
ThroughputChart throughput_chart(const ResultSet& results);

/// What points of one colour and shape have in common: model or variant.
std::string series_name(const profilers::Record& record);

} // namespace attnprof::reports
