#include "cli/run_manifest.hpp"

#include "operators/core/error.hpp"
#include "profilers/cache_control.hpp"
#include "reports/json_reader.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::Json;

constexpr std::string_view kNone = "-";

template <class Number>
std::string text_of(const std::optional<Number>& value) {
  return value ? fmt::format("{}", *value) : std::string(kNone);
}

std::filesystem::path manifest_in(const std::filesystem::path& folder) {
  return folder / "run.json";
}

std::string value_in(const std::vector<Setting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const Setting& s) { return s.name == name; });
  return found == settings.end() ? std::string(kNone) : found->value;
}

std::string named(const std::string& name, const std::string& value) {
  return value == kNone ? "without " + name : fmt::format("with {} {}", name, value);
}

[[noreturn]] void refuse(const std::filesystem::path& folder, const std::string& name, const std::string& earlier,
                         const std::string& now) {
  throw Error(
      ErrorKind::kUsage,
      fmt::format("'{}' holds rows that were measured {}, and this sweep is {}: give the earlier flags again to "
                  "go on with --resume, or another folder with -o",
                  folder.string(), named(name, earlier), named(name, now)));
}

std::string text_of(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

} // namespace

std::vector<Setting> measuring_settings(const MeasuringRequest& measuring) {
  const profilers::MeasureOptions& timing = measuring.timing;
  return {{"--warmup", text_of(timing.warmup)},
          {"--repetitions", text_of(timing.repetitions)},
          {"--min-time", fmt::format("{}", timing.min_time_s)},
          {"--max-noise", text_of(timing.max_noise)},
          {"--timeout", fmt::format("{}", timing.timeout_s)},
          {"--cache", std::string(profilers::name_of(measuring.cache_policy))},
          {"--counters", std::string(name_of(measuring.counters))},
          {"--seed", fmt::format("{}", measuring.seed)}};
}

std::optional<RunManifest> read_manifest(reports::Files& files, const std::filesystem::path& folder) {
  const std::optional<std::string> text = files.read(manifest_in(folder));
  if (!text) {
    return std::nullopt;
  }
  const std::string name = manifest_in(folder).string();
  const Json json = reports::parse_json(*text, name);
  reports::check_schema_version(json, name);
  const reports::JsonReader reader(json, name);
  RunManifest out;
  for (const reports::JsonReader& setting : reader.objects("settings")) {
    out.settings.push_back({setting.needed_text("name"), setting.needed_text("value")});
  }
  out.host = reader.text("host");
  out.ceilings = reader.text("ceilings");
  out.shard = parse_shard(reader.needed_text("shard"));
  const std::int64_t cases = reader.needed_integer("cases");
  if (cases < 0) {
    reader.reject("cases", "a number of cases");
  }
  out.cases = static_cast<std::size_t>(cases);
  return out;
}

void write_manifest(reports::Files& files, const RunManifest& manifest, const std::filesystem::path& folder) {
  Json settings = Json::array();
  for (const Setting& setting : manifest.settings) {
    settings.push_back({{"name", setting.name}, {"value", setting.value}});
  }
  const Json out = {{"schema_version", reports::kSchemaVersion},
                    {"settings", std::move(settings)},
                    {"host", manifest.host},
                    {"ceilings", manifest.ceilings},
                    {"shard", text_of(manifest.shard)},
                    {"cases", manifest.cases}};
  files.write(manifest_in(folder), reports::json_text(out, 2) + "\n");
}

void require_same_run(const RunManifest& earlier, const RunManifest& now, const std::filesystem::path& folder) {
  if (earlier.host != now.host) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' holds rows of another machine or build (fingerprint {}, here {}): go on where they "
                            "were measured, or give another folder with -o",
                            folder.string(), earlier.host, now.host));
  }
  if (earlier.ceilings != now.ceilings) {
    refuse(folder, "the ceilings", earlier.ceilings, now.ceilings + " (--hw)");
  }
  for (const std::vector<Setting>& settings : {earlier.settings, now.settings}) {
    for (const Setting& setting : settings) {
      const std::string before = value_in(earlier.settings, setting.name);
      const std::string after = value_in(now.settings, setting.name);
      if (before != after) {
        refuse(folder, setting.name, before, after);
      }
    }
  }
  if (text_of(earlier.shard) != text_of(now.shard)) {
    refuse(folder, "--shard", text_of(earlier.shard), text_of(now.shard));
  }
}

} // namespace attnprof::cli
