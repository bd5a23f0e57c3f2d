// A run directory: records.jsonl and machine.json are the record, everything else is a view of them (R6).
#pragma once
#include "profilers/machine.hpp"
#include "profilers/record.hpp"
#include "reports/files.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::reports {

struct ResultSet {
  std::vector<profilers::Record> records;
  std::optional<profilers::Machine> machine;
  std::vector<std::string> notes; ///< sentences for stderr: a torn last line, a missing machine.json
};

/// Loads a run directory, a records.jsonl, or a cases document (*.json). Roofs are derived again where the machine is
/// known. Throws operators::Error(kIo | kUsage) that names the path.
ResultSet load_results(Files& files, const std::filesystem::path& path);

/// A figure for papers: the script that draws it, which writes NAME.svg, NAME.png and NAME.pdf.
struct Figure {
  std::string name;
  std::string script;
};
/// Runs gnuplot on the script of a figure in a folder; names the files that it wrote there, none where gnuplot is not
/// installed or fails. The same script gives the same bytes.
using PlotRunner = std::function<std::vector<std::string>(const std::filesystem::path& folder, const Figure& figure)>;
/// The gnuplot on the PATH.
PlotRunner gnuplot_runner();

/// Writes results.csv, kernels.csv, summary.md, report.html, machine.json, the scripts of the figures
/// (roofline.gnuplot, throughput.gnuplot), and with a plotter the figures. The same set gives the same bytes. Returns
/// the names of the files written.
std::vector<std::string> write_views(Files& files, const ResultSet& results, const std::filesystem::path& folder,
                                     const PlotRunner& plot);

} // namespace attnprof::reports
