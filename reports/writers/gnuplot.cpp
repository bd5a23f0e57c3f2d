#include "reports/writers/gnuplot.hpp"

#include "reports/charts.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

/// Colours that stay apart for colour-blind readers (Okabe and Ito), each with a shape of its own.
struct Mark {
  std::string_view colour;
  int filled;
  int hollow;
};
constexpr std::array<Mark, 6> kMarks = {{{"#0072B2", 7, 6},
                                         {"#D55E00", 5, 4},
                                         {"#009E73", 9, 8},
                                         {"#CC79A7", 13, 12},
                                         {"#E69F00", 11, 10},
                                         {"#56B4E9", 15, 14}}};

/// A single-quoted string: no escapes but the quote itself, which is doubled.
std::string plot_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\n' || c == '\r' ? ' ' : c;
    out += c == '\'' ? "'" : "";
  }
  return out + "'";
}

std::string head(std::string_view file, std::string_view title, std::string_view x, std::string_view y, const Range& xs,
                 const Range& ys) {
  return fmt::format("set encoding utf8\n"
                     "set terminal svg size 960,640 noenhanced font 'sans-serif,13' background '#ffffff'\n"
                     "set output {}\n"
                     "set title {}\n"
                     "set xlabel {}\nset ylabel {}\n"
                     "set logscale xy\nset format x '%.0s%c'\nset format y '%.0s%c'\n"
                     "set xrange [{}:{}]\nset yrange [{}:{}]\n"
                     "set grid linecolor rgb '#dddddd'\nset key outside bottom center horizontal\n",
                     plot_text(file), plot_text(title), plot_text(x), plot_text(y), exact(xs.low), exact(xs.high),
                     exact(ys.low), exact(ys.high));
}

struct Series {
  std::string name;
  std::size_t mark = 0;
  bool hollow = false;
  std::string points;
};

std::string plan_of(const profilers::Record& record) {
  return operators::to_string(record.config.get("plan"));
}

/// One series a variant and plan; the plans of a variant share its colour, and eager marks are hollow beside fused
/// ones.
std::vector<Series> series_of(const ResultSet& results, const std::vector<ChartPoint>& points) {
  const bool has_fused = std::any_of(points.begin(), points.end(), [&](const ChartPoint& point) {
    return plan_of(results.records[point.record]) == "fused";
  });
  const bool has_eager = std::any_of(points.begin(), points.end(), [&](const ChartPoint& point) {
    return plan_of(results.records[point.record]) == "eager";
  });
  std::vector<Series> out;
  std::vector<std::string> variants;
  for (const ChartPoint& point : points) {
    const profilers::Record& record = results.records[point.record];
    const std::string variant = series_name(record);
    const std::string name = has_fused && has_eager ? variant + " " + plan_of(record) : variant;
    auto at = std::find_if(out.begin(), out.end(), [&](const Series& one) { return one.name == name; });
    if (at == out.end()) {
      auto known = std::find(variants.begin(), variants.end(), variant);
      const auto mark = static_cast<std::size_t>(known - variants.begin());
      if (known == variants.end()) {
        variants.push_back(variant);
      }
      out.push_back({name, mark, has_fused && plan_of(record) == "eager", {}});
      at = std::prev(out.end());
    }
    at->points += fmt::format("{} {}\n", exact(point.x), exact(point.y));
  }
  return out;
}

std::string blocks(const std::vector<Series>& series) {
  std::string out;
  for (std::size_t i = 0; i < series.size(); ++i) {
    out += fmt::format("$s{} << EOD\n{}EOD\n", i, series[i].points);
  }
  return out;
}

std::vector<std::string> point_plots(const std::vector<Series>& series) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Mark& mark = kMarks[series[i].mark % kMarks.size()];
    out.push_back(fmt::format("$s{} with points pointtype {} pointsize 1.1 linecolor rgb '{}' title {}", i,
                              series[i].hollow ? mark.hollow : mark.filled, mark.colour, plot_text(series[i].name)));
  }
  return out;
}

std::vector<std::string> roof_plots(const RoofSet& set) {
  std::vector<std::string> out;
  const auto& peak = set.roofs.matrix;
  if (!peak) {
    return out;
  }
  int dash = 1;
  for (const MemoryRoof& level : set.roofs.memory) {
    out.push_back(
        fmt::format("(x*{0} < {1} ? x*{0} : {1}) with lines linewidth 1.5 dashtype {2} linecolor rgb '#555555' "
                    "title {3}",
                    exact(level.bytes_per_s), exact(peak->per_s), dash++,
                    plot_text(fmt::format("{}{}{} {}", level.level, level.traffic.empty() ? "" : " ", level.traffic,
                                          si(level.bytes_per_s, "B/s")))));
  }
  out.push_back(fmt::format("{} with lines linewidth 1.5 linecolor rgb '#222222' title {}", exact(peak->per_s),
                            plot_text(fmt::format("{} {}", peak->label, si(peak->per_s, "FLOP/s")))));
  if (set.roofs.vector && set.roofs.vector->per_s < peak->per_s) {
    out.push_back(fmt::format(
        "{} with lines linewidth 1 dashtype 3 linecolor rgb '#222222' title {}", exact(set.roofs.vector->per_s),
        plot_text(fmt::format("{} {}", set.roofs.vector->label, si(set.roofs.vector->per_s, "FLOP/s")))));
  }
  return out;
}

} // namespace

std::string roofline_gnuplot(const ResultSet& results) {
  const RooflineChart chart = roofline_chart(results);
  if (chart.points.empty()) {
    return {};
  }
  const std::string title = chart.roofs.empty() ? "Roofline: no ceilings known"
                                                : fmt::format("Roofline: ceilings for {}", name_of(chart.roofs[0]));
  const std::vector<Series> series = series_of(results, chart.points);
  std::vector<std::string> plots = chart.roofs.empty() ? std::vector<std::string>() : roof_plots(chart.roofs[0]);
  for (std::string& plot : point_plots(series)) {
    plots.push_back(std::move(plot));
  }
  return head("roofline.svg", title, "intensity (FLOP/B)", "rate (FLOP/s)", chart.x, chart.y) + blocks(series) +
         fmt::format("plot {}\n", fmt::join(plots, ", \\\n     "));
}

std::string throughput_gnuplot(const ResultSet& results) {
  const ThroughputChart chart = throughput_chart(results);
  if (chart.points.empty()) {
    return {};
  }
  const std::vector<Series> series = series_of(results, chart.points);
  return head("throughput.svg", "Throughput over work", fmt::format("work (FLOP per {})", chart.item),
              fmt::format("throughput ({}s/s)", chart.item), chart.x, chart.y) +
         blocks(series) + fmt::format("plot {}\n", fmt::join(point_plots(series), ", \\\n     "));
}

} // namespace attnprof::reports
