#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/machine_store.hpp"
#include "cli/rows.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_manifest.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/result_set.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <ostream>
#include <set>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;
using reports::ResultSet;

bool is_ok(const Record& record) {
  return record.status == profilers::Status::kOk;
}

/// Shards deal the plan out in turns, so taking a row from each in turns brings its order back.
std::vector<Record> in_turns(const std::vector<ResultSet>& sets, std::ostream& err) {
  std::size_t longest = 0;
  for (const ResultSet& set : sets) {
    longest = std::max(longest, set.records.size());
  }
  std::vector<Record> out;
  std::map<std::string, std::size_t> seen;
  for (std::size_t row = 0; row < longest; ++row) {
    for (const ResultSet& set : sets) {
      if (row >= set.records.size()) {
        continue;
      }
      const Record& record = set.records[row];
      const auto [found, is_new] = seen.emplace(record.id, out.size());
      if (is_new) {
        out.push_back(record);
        continue;
      }
      Record& kept = out[found->second];
      const bool takes_over = is_ok(record) && !is_ok(kept);
      err << fmt::format("attnprof: '{}' is in more than one run; {} is kept\n", record.id,
                         takes_over ? "the one with a result" : "the first one");
      if (takes_over) {
        kept = record;
      }
    }
  }
  return out;
}

/// Roofs belong to a machine. Runs of different machines are merged without any, rather than held against the wrong
/// ones.
std::optional<profilers::Machine> common_machine(const std::vector<ResultSet>& sets, std::ostream& err) {
  const std::optional<profilers::Machine>& first = sets.front().machine;
  for (const ResultSet& set : sets) {
    const bool same = set.machine && first && set.machine->fingerprint == first->fingerprint;
    if (!same) {
      err << "attnprof: the runs are of different machines or builds, so the merged rows have no common roofs\n";
      return std::nullopt;
    }
  }
  return first;
}

/// A folder that is to be merged.
struct Part {
  std::string path;
  ResultSet results;
  std::optional<RunManifest> manifest; ///< absent in folders of earlier versions

  [[nodiscard]] bool is_shard() const { return manifest && manifest->shard.count > 1; }
};

/// Refuses what are no shards of one sweep, and brings them in their order; folders that are no shards stay as given.
void put_in_order(std::vector<Part>& parts) {
  const auto first = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.is_shard(); });
  if (first == parts.end()) {
    return;
  }
  const std::int64_t count = first->manifest->shard.count;
  for (const Part& part : parts) {
    if (!part.manifest || part.manifest->shard.count != count) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' is shard {}/{} and '{}' is {}: merge the {} shards of one sweep", first->path,
                              first->manifest->shard.index, count, part.path,
                              part.is_shard()
                                  ? fmt::format("shard {}/{}", part.manifest->shard.index, part.manifest->shard.count)
                                  : std::string("no shard"),
                              count));
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.manifest->shard.index < b.manifest->shard.index; });
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].manifest->shard.index == parts[i - 1].manifest->shard.index) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' and '{}' are both shard {}/{}: give one of them", parts[i - 1].path, parts[i].path,
                              parts[i].manifest->shard.index, count));
    }
  }
}

/// Sentences about shards, and rows of shards, that are not there.
std::vector<std::string> gaps_of(const std::vector<Part>& parts) {
  std::vector<std::string> out;
  if (parts.front().is_shard()) {
    std::vector<std::string> absent;
    for (std::int64_t index = 1; index <= parts.front().manifest->shard.count; ++index) {
      if (std::none_of(parts.begin(), parts.end(), [&](const Part& p) { return p.manifest->shard.index == index; })) {
        absent.push_back(fmt::format("{}/{}", index, parts.front().manifest->shard.count));
      }
    }
    if (!absent.empty()) {
      out.push_back(fmt::format("shard {} is missing: run `attnprof sweep` with --shard, and merge again",
                                fmt::join(absent, ", ")));
    }
  }
  for (const Part& part : parts) {
    if (part.manifest && part.results.records.size() < part.manifest->cases) {
      out.push_back(
          fmt::format("'{}' holds {} of its {} rows: finish it with `attnprof sweep --resume`, and merge again",
                      part.path, part.results.records.size(), part.manifest->cases));
    }
  }
  return out;
}

std::vector<Part> read_parts(const std::vector<std::string>& paths, Context& context) {
  std::vector<Part> parts;
  for (const std::string& path : paths) {
    parts.push_back({path, reports::load_results(*context.seams.files, path), {}});
    if (context.seams.files->is_directory(path)) {
      parts.back().manifest = read_manifest(*context.seams.files, path);
    }
    for (const std::string& note : parts.back().results.notes) {
      context.err << "attnprof: " << note << '\n';
    }
  }
  put_in_order(parts);
  return parts;
}

int merge(const Arguments& arguments, Context& context) {
  const std::vector<std::string>& paths = arguments.positionals();
  if (paths.empty()) {
    throw Error(ErrorKind::kUsage, "merge takes the folders of all shards of a sweep, and -o DIR");
  }
  const std::optional<std::string> output = arguments.text("--output");
  if (!output) {
    throw Error(ErrorKind::kUsage, "merge needs a folder to write to: give -o DIR");
  }
  std::vector<Part> parts = read_parts(paths, context);
  if (const std::vector<std::string> gaps = gaps_of(parts); !gaps.empty()) {
    for (const std::string& gap : gaps) {
      context.err << "attnprof: " << gap << '\n';
    }
    return kExitRowMissing; // before anything is written, so that the same -o can be given again
  }
  std::vector<ResultSet> sets;
  for (Part& part : parts) {
    sets.push_back(std::move(part.results));
  }
  RunFolder folder = open_run_folder(*context.seams.files, output, false);
  for (const Record& record : in_turns(sets, context.err)) {
    folder.writer.append(record);
  }
  if (const auto machine = common_machine(sets, context.err)) {
    write_machine(*context.seams.files, *machine, folder.path / "machine.json");
  }
  const ResultSet merged = reports::load_results(*context.seams.files, folder.path);
  reports::write_views(*context.seams.files, merged, folder.path, context.seams.plot);
  context.out << fmt::format("{} from {} runs, written to {}\n", count_sentence(merged.records), sets.size(),
                             folder.path.string());
  return kExitOk;
}

} // namespace

Command merge_command() {
  Command out;
  out.name = "merge";
  out.summary = "put the shards of a sweep together, in the order of the whole";
  out.usage = "DIR... -o DIR";
  out.positional = "run folders";
  out.options = {{"--output", "-o", "DIR", "folder of the whole", OptionGroup::kOutput}};
  out.examples = {"merge shard1 shard2 shard3 -o whole", "merge monday tuesday -o week"};
  out.run = merge;
  return out;
}

} // namespace attnprof::cli
