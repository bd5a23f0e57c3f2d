#include "reports/writers/gnuplot.hpp"

#include "reports/charts.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

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

// The plot's box as parts of the canvas: fixed, so that the angle of a label on a sloping line is known.
constexpr double kCanvasWidth = 960;
constexpr double kCanvasHeight = 600;
constexpr double kLeft = 0.085;
constexpr double kRight = 0.83;
constexpr double kBottom = 0.11;
constexpr double kTop = 0.91;

/// What all outputs of a figure share; the terminal stands in front of each plot.
std::string head(std::string_view title, std::string_view x, std::string_view y, const Range& xs, const Range& ys) {
  return fmt::format("set encoding utf8\n"
                     "set lmargin at screen {}\nset rmargin at screen {}\n"
                     "set bmargin at screen {}\nset tmargin at screen {}\n"
                     "set title {} font ',15'\n"
                     "set xlabel {}\nset ylabel {} offset 1,0\n"
                     "set samples 500\nset logscale xy\nset format x '%.0s%c'\nset format y '%.0s%c'\n"
                     "set xrange [{}:{}]\nset yrange [{}:{}]\n"
                     "set border 3 linecolor rgb '#444444'\nset tics nomirror textcolor rgb '#222222'\n"
                     "set grid xtics ytics linetype 1 linecolor rgb '#dddddd' linewidth 0.7\n"
                     "set key at screen 0.845,0.91 left top vertical Left reverse samplen 1.5 spacing 1.3 font ',11'\n",
                     kLeft, kRight, kBottom, kTop, plot_text(title), plot_text(x), plot_text(y), exact(xs.low),
                     exact(xs.high), exact(ys.low), exact(ys.high));
}

/// Degrees at which a line of constant bytes a second rises.
double rise_of(const Range& xs, const Range& ys) {
  const double width = kCanvasWidth * (kRight - kLeft) / std::log10(xs.high / xs.low);
  const double height = kCanvasHeight * (kTop - kBottom) / std::log10(ys.high / ys.low);
  return std::atan2(height, width) * 180.0 / std::acos(-1.0);
}

/// The plot into each kind of file; a gnuplot that was built without a terminal leaves its file out.
std::string outputs(std::string_view name, const std::vector<std::string>& plots) {
  const std::string plot = fmt::format("plot {}\nunset output\n", fmt::join(plots, ", \\\n     "));
  std::string out = fmt::format("set terminal svg size 960,600 noenhanced font 'sans-serif,13' background '#ffffff'\n"
                                "set output {}\n{}",
                                plot_text(fmt::format("{}.svg", name)), plot);
  for (const auto& [terminal, options, kind] :
       {std::tuple("pngcairo", "size 1920,1200 fontscale 2 linewidth 2 pointscale 2", "png"),
        std::tuple("pdfcairo", "size 6.4in,4in fontscale 0.62 linewidth 1 pointscale 0.6", "pdf")}) {
    out +=
        fmt::format("if (strstrt(GPVAL_TERMINALS, '{0}') > 0) {{\nset terminal {0} {1} noenhanced font 'sans-serif,13' "
                    "background '#ffffff'\nset output {2}\nreplot\nunset output\n}}\n",
                    terminal, options, plot_text(fmt::format("{}.{}", name, kind)));
  }
  return out;
}

struct Series {
  std::string name;
  std::string variant;
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
      out.push_back({name, variant, mark, has_fused && plan_of(record) == "eager", {}});
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

/// One entry in the key a variant; where eager marks are hollow, one more says so.
std::vector<std::string> point_plots(const std::vector<Series>& series) {
  std::vector<std::string> out;
  bool explains = false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Series& one = series[i];
    const Mark& mark = kMarks[one.mark % kMarks.size()];
    // Past the last colour shapes go on, one further for each round of the colours.
    const Mark& shape = kMarks[(one.mark + one.mark / kMarks.size()) % kMarks.size()];
    const bool has_fused = std::any_of(series.begin(), series.end(),
                                       [&](const Series& other) { return other.mark == one.mark && !other.hollow; });
    explains = explains || one.hollow;
    out.push_back(fmt::format("$s{} with points pointtype {} pointsize 1.1 linecolor rgb '{}' {}", i,
                              one.hollow ? shape.hollow : shape.filled, mark.colour,
                              one.hollow && has_fused ? "notitle" : "title " + plot_text(one.variant)));
  }
  if (explains) {
    out.emplace_back("1/0 with points pointtype 6 pointsize 1.1 linecolor rgb '#444444' title 'hollow: eager'");
  }
  return out;
}

std::string level_text(const MemoryRoof& level) {
  return fmt::format("{}{}{} {}", level.level, level.traffic.empty() ? "" : " ", level.traffic,
                     si(level.bytes_per_s, "B/s"));
}

/// Names and figures of the ceilings, on their lines.
std::string roof_labels(const RooflineChart& chart) {
  const Roofs& roofs = chart.roofs[0].roofs;
  std::string out;
  for (const MemoryRoof& level : roofs.memory) {
    // Just inside the box, where the line enters it.
    const double x = 1.12 * std::max(chart.x.low, chart.y.low * 1.1 / level.bytes_per_s);
    out +=
        fmt::format("set label {} at {:.6g},{:.6g} rotate by {:.1f} offset 0,0.7 font ',10' textcolor rgb '#444444'\n",
                    plot_text(level_text(level)), x, x * level.bytes_per_s, rise_of(chart.x, chart.y));
  }
  for (const auto* peak : {&roofs.matrix, &roofs.vector}) {
    if (*peak && (peak == &roofs.matrix || roofs.vector->per_s < roofs.matrix->per_s)) {
      out += fmt::format("set label {} at {:.6g},{:.6g} right offset 0,0.6 font ',10' textcolor rgb '#444444'\n",
                         plot_text(fmt::format("{} {}", (*peak)->label, si((*peak)->per_s, "FLOP/s"))),
                         chart.x.high / 1.05, (*peak)->per_s);
    }
  }
  return out;
}

std::vector<std::string> roof_plots(const RoofSet& set) {
  std::vector<std::string> out;
  const auto& peak = set.roofs.matrix;
  if (!peak) {
    return out;
  }
  double fastest = 0.0;
  for (const MemoryRoof& level : set.roofs.memory) {
    fastest = std::max(fastest, level.bytes_per_s);
    out.push_back(fmt::format("(x*{0} < {1} ? x*{0} : 1/0) with lines linewidth 1.5 linecolor rgb '#777777' notitle",
                              exact(level.bytes_per_s), exact(peak->per_s)));
  }
  const auto flat = [&](double per_s, std::string_view style) {
    out.push_back(fmt::format("(x*{0} > {1} ? {1} : 1/0) with lines {2} linecolor rgb '#444444' notitle",
                              fastest > 0.0 ? exact(fastest) : "1e300", exact(per_s), style));
  };
  flat(peak->per_s, "linewidth 1.5");
  if (set.roofs.vector && set.roofs.vector->per_s < peak->per_s) {
    flat(set.roofs.vector->per_s, "linewidth 1 dashtype 2");
  }
  return out;
}

/// The front as a line below the points; one of a single point is none.
std::string front_blocks(const ThroughputChart& chart) {
  std::string out;
  for (std::size_t i = 0; i < chart.fronts.size(); ++i) {
    out += fmt::format("$front{} << EOD\n", i);
    for (const std::size_t point : chart.fronts[i].points) {
      out += fmt::format("{} {}\n", exact(chart.points[point].x), exact(chart.points[point].y));
    }
    out += "EOD\n";
  }
  return out;
}
/// One entry in the key for all of them.
std::vector<std::string> front_plots(const ThroughputChart& chart) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < chart.fronts.size(); ++i) {
    if (chart.fronts[i].points.size() > 1) {
      out.push_back(fmt::format("$front{} with lines linewidth 2 linecolor rgb '#999999' {}", i,
                                out.empty() ? "title 'front'" : "notitle"));
    }
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
  return head(title, "intensity (FLOP/B)", "rate (FLOP/s)", chart.x, chart.y) +
         (chart.roofs.empty() ? std::string() : roof_labels(chart)) + blocks(series) + outputs("roofline", plots);
}

std::string throughput_gnuplot(const ResultSet& results) {
  const ThroughputChart chart = throughput_chart(results);
  if (chart.points.empty()) {
    return {};
  }
  const std::vector<Series> series = series_of(results, chart.points);
  std::vector<std::string> plots = front_plots(chart);
  for (std::string& plot : point_plots(series)) {
    plots.push_back(std::move(plot));
  }
  return head("Throughput over work", fmt::format("work (FLOP per {})", chart.item),
              fmt::format("throughput ({}s/s)", chart.item), chart.x, chart.y) +
         front_blocks(chart) + blocks(series) + outputs("throughput", plots);
}

std::vector<Figure> figures_of(const ResultSet& results) {
  std::vector<Figure> out = {{"roofline", roofline_gnuplot(results)}, {"throughput", throughput_gnuplot(results)}};
  std::erase_if(out, [](const Figure& figure) { return figure.script.empty(); });
  return out;
}

} // namespace attnprof::reports
