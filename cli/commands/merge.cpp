#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/machine_store.hpp"
#include "cli/rows.hpp"
#include "cli/run_folder.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/result_set.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <set>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;
using reports::ResultSet;

/// Shards deal the plan out in turns, so taking a row from each in turns brings its order back.
std::vector<Record> in_turns(const std::vector<ResultSet>& sets, std::ostream& err) {
  std::size_t longest = 0;
  for (const ResultSet& set : sets) {
    longest = std::max(longest, set.records.size());
  }
  std::vector<Record> out;
  std::set<std::string> seen;
  for (std::size_t row = 0; row < longest; ++row) {
    for (const ResultSet& set : sets) {
      if (row >= set.records.size()) {
        continue;
      }
      if (seen.insert(set.records[row].id).second) {
        out.push_back(set.records[row]);
      } else {
        err << fmt::format("attnprof: '{}' is in more than one run; the first one is kept\n", set.records[row].id);
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

int merge(const Arguments& arguments, Context& context) {
  const std::vector<std::string>& paths = arguments.positionals();
  if (paths.empty()) {
    throw Error(ErrorKind::kUsage, "merge takes the folders of the shards, in the order of their numbers, and -o DIR");
  }
  const std::optional<std::string> output = arguments.text("--output");
  if (!output) {
    throw Error(ErrorKind::kUsage, "merge needs a folder to write to: give -o DIR");
  }
  std::vector<ResultSet> sets;
  for (const std::string& path : paths) {
    sets.push_back(reports::load_results(*context.seams.files, path));
    for (const std::string& note : sets.back().notes) {
      context.err << "attnprof: " << note << '\n';
    }
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
  return 0;
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
