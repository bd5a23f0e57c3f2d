#include "reports/result_set.hpp"

#include "operators/core/error.hpp"
#include "profilers/machine_json.hpp"
#include "reports/concurrent.hpp"
#include "reports/derive.hpp"
#include "reports/record_file.hpp"
#include "reports/record_json.hpp"
#include "reports/roofs.hpp"
#include "reports/writers/csv.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/html.hpp"
#include "reports/writers/markdown.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;

std::optional<profilers::Machine> load_machine(Files& files, const std::filesystem::path& path,
                                               std::vector<std::string>& notes) {
  const auto text = files.read(path);
  if (!text) {
    notes.push_back(fmt::format("{} does not exist: roofs are shown as they were recorded", path.string()));
    return {};
  }
  try {
    return profilers::machine_from_json(parse_json(*text, path.string()));
  } catch (const Error& fault) {
    notes.push_back(fmt::format("{} is not used: {}", path.string(), fault.what()));
    return {};
  }
}

/// Records of other machines keep the roofs that were recorded with them.
void derive_all(ResultSet& results, int threads) {
  RoofTable roofs(*results.machine); // finding the roofs takes longer than deriving a case
  in_slices(results.records.size(), threads, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      Record& record = results.records[i];
      if (record.machine_fingerprint.empty() || record.machine_fingerprint == results.machine->fingerprint) {
        derive(record, roofs.roofs_for(record));
      }
    }
  });
}

std::vector<Record> load_document(const std::string& text, const std::filesystem::path& path) {
  const Json json = parse_json(text, path.string());
  try {
    return records_from_document(json);
  } catch (const Error& fault) {
    throw Error(fault.kind(), fmt::format("{}: {}", path.string(), fault.what()));
  }
}

bool is_lines_file(const std::filesystem::path& path) {
  return path.extension() == ".jsonl";
}

} // namespace

ResultSet load_results(Files& files, const std::filesystem::path& path) {
  const int threads = usable_threads();
  const bool is_folder = files.is_directory(path);
  const std::filesystem::path records = is_folder ? path / "records.jsonl" : path;
  ResultSet out;
  bool exists = false;
  if (is_lines_file(records)) {
    RecordLineReader reader(records.string(), threads);
    exists = files.read_pieces(records, [&](std::string_view piece) { reader.take(piece); });
    RecordLines lines = reader.finish();
    out.records = std::move(lines.records);
    out.notes = std::move(lines.notes);
  } else if (const auto text = files.read(records)) {
    exists = true;
    out.records = load_document(*text, path);
  }
  if (!exists) {
    throw Error(ErrorKind::kIo,
                is_folder ? fmt::format("{} holds no records.jsonl: it is no folder of a run", path.string())
                          : fmt::format("{} does not exist: give the folder of a run, a records.jsonl or the output of "
                                        "run --json",
                                        path.string()));
  }
  if (is_lines_file(records)) {
    out.machine = load_machine(files, records.parent_path() / "machine.json", out.notes);
  }
  if (out.machine) {
    derive_all(out, threads);
  }
  return out;
}

std::vector<std::string> write_views(Files& files, const ResultSet& results, const std::filesystem::path& folder,
                                     const PlotRunner& plot) {
  std::vector<std::string> written;
  const auto write = [&](const std::string& name, const std::string& text) {
    files.write(folder / name, text);
    written.push_back(name);
  };
  write("results.csv", results_csv(results.records));
  write("kernels.csv", kernels_csv(results.records));
  write("summary.md", summary_markdown(results));
  write("report.html", report_html(results));
  if (results.machine) {
    write("machine.json", profilers::machine_to_json(*results.machine).dump(2) + "\n");
  }
  for (const Figure& figure : figures_of(results)) {
    write(figure.name + ".gnuplot", figure.script);
    if (plot) {
      const std::vector<std::string> drawn = plot(folder, figure);
      written.insert(written.end(), drawn.begin(), drawn.end());
    }
  }
  return written;
}

} // namespace attnprof::reports
