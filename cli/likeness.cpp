#include "cli/likeness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace attnprof::cli {
namespace {

using profilers::Environment;

std::string caches_text(const Environment& environment) {
  std::vector<std::string> parts;
  for (const profilers::Cache& cache : environment.caches) {
    parts.push_back(fmt::format("L{} {} KiB x {}", cache.level, cache.size_bytes / 1024, cache.instances));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::pair<std::string, std::string>> traits(const Environment& environment) {
  return {{"processor", environment.cpu_model.value_or("unknown")},
          {"vector extensions", fmt::format("{}", fmt::join(environment.isa_flags, " "))},
          {"usable cores", fmt::format("{}", environment.cores)},
          {"caches", caches_text(environment)},
          {"compiler", environment.compiler},
          {"build type", environment.build_type}};
}

std::set<std::string> fingerprints(const std::vector<profilers::Record>& records) {
  std::set<std::string> out;
  for (const profilers::Record& record : records) {
    if (record.measured && !record.machine_fingerprint.empty()) {
      out.insert(record.machine_fingerprint);
    }
  }
  return out;
}

} // namespace

std::vector<std::string> differences(const reports::ResultSet& before, const reports::ResultSet& after) {
  std::vector<std::string> out;
  if (before.machine && after.machine) {
    const auto a = traits(before.machine->environment);
    const auto b = traits(after.machine->environment);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].second != b[i].second) {
        out.push_back(fmt::format("{}: {} / {}", a[i].first, a[i].second, b[i].second));
      }
    }
    return out;
  }
  const std::set<std::string> a = fingerprints(before.records);
  const std::set<std::string> b = fingerprints(after.records);
  if (!a.empty() && !b.empty() && a != b) {
    out.push_back(fmt::format("machine or build: {} / {}", fmt::join(a, " "), fmt::join(b, " ")));
  }
  return out;
}

} // namespace attnprof::cli
