#include "profilers/machine_json.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attnprof::profilers {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T>
void read_optional(const Json& json, const char* key, std::optional<T>& into) {
  const auto found = json.find(key);
  if (found != json.end() && !found->is_null())
    into = found->get<T>();
}

template <typename T>
void read(const Json& json, const char* key, T& into) {
  into = json.at(key).get<T>();
}

Json to_json(const Cache& cache) {
  return {{"name", fmt::format("L{}", cache.level)},
          {"level", cache.level},
          {"kind", cache.kind},
          {"size_bytes", cache.size_bytes},
          {"line_bytes", cache.line_bytes},
          {"shared_by", cache.shared_by},
          {"instances", cache.instances}};
}

Cache cache_from(const Json& json) {
  Cache cache;
  read(json, "level", cache.level);
  read(json, "kind", cache.kind);
  read(json, "size_bytes", cache.size_bytes);
  read(json, "line_bytes", cache.line_bytes);
  read(json, "shared_by", cache.shared_by);
  read(json, "instances", cache.instances);
  return cache;
}

Environment environment_from(const Json& json) {
  Environment environment;
  read_optional(json, "cpu_model", environment.cpu_model);
  read(json, "isa_flags", environment.isa_flags);
  read(json, "cores", environment.cores);
  read(json, "cpus", environment.cpus);
  read(json, "physical_cores", environment.physical_cores);
  read_optional(json, "quota_cores", environment.quota_cores);
  for (const Json& kind : json.at("core_kinds"))
    environment.core_kinds.push_back({kind.at("name").get<std::string>(), kind.at("cpus").get<std::vector<int>>()});
  for (const Json& cache : json.at("caches"))
    environment.caches.push_back(cache_from(cache));
  read_optional(json, "smt", environment.smt);
  read_optional(json, "governor", environment.governor);
  read_optional(json, "turbo", environment.turbo);
  read_optional(json, "hypervisor", environment.hypervisor);
  read_optional(json, "huge_pages", environment.huge_pages);
  read_optional(json, "memory_available_bytes", environment.memory_available_bytes);
  read_optional(json, "kernel", environment.kernel);
  read(json, "version", environment.version);
  read(json, "commit", environment.commit);
  read(json, "compiler", environment.compiler);
  read(json, "build_type", environment.build_type);
  read(json, "assertions", environment.assertions);
  return environment;
}

Json to_json(const ComputeCeiling& entry) {
  return {{"unit", entry.unit},   {"dtype", entry.dtype}, {"isa", entry.isa},   {"threads", entry.threads},
          {"per_s", entry.per_s}, {"low", entry.low},     {"high", entry.high}, {"origin", entry.origin}};
}

ComputeCeiling compute_from(const Json& json) {
  ComputeCeiling entry;
  read(json, "unit", entry.unit);
  read(json, "dtype", entry.dtype);
  read(json, "isa", entry.isa);
  read(json, "threads", entry.threads);
  read(json, "per_s", entry.per_s);
  read(json, "low", entry.low);
  read(json, "high", entry.high);
  read(json, "origin", entry.origin);
  return entry;
}

Json to_json(const BandwidthCeiling& entry) {
  return {{"level", entry.level},
          {"kind", entry.kind},
          {"threads", entry.threads},
          {"bytes_per_s", entry.bytes_per_s},
          {"low", entry.low},
          {"high", entry.high},
          {"working_set_bytes", entry.working_set_bytes},
          {"origin", entry.origin}};
}

BandwidthCeiling bandwidth_from(const Json& json) {
  BandwidthCeiling entry;
  read(json, "level", entry.level);
  read(json, "kind", entry.kind);
  read(json, "threads", entry.threads);
  read(json, "bytes_per_s", entry.bytes_per_s);
  read(json, "low", entry.low);
  read(json, "high", entry.high);
  read(json, "working_set_bytes", entry.working_set_bytes);
  read(json, "origin", entry.origin);
  return entry;
}

Json to_json(const MemoryLevel& entry) {
  return {{"level", entry.level},
          {"threads", entry.threads},
          {"capacity_bytes", value_or_null(entry.capacity_bytes)},
          {"origin", entry.origin}};
}

MemoryLevel level_from(const Json& json) {
  MemoryLevel entry;
  read(json, "level", entry.level);
  read(json, "threads", entry.threads);
  read_optional(json, "capacity_bytes", entry.capacity_bytes);
  read(json, "origin", entry.origin);
  return entry;
}

Json to_json(const ThreadCurve& curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve.points)
    points.push_back({{"working_set_bytes", point.working_set_bytes}, {"bytes_per_s", point.bytes_per_s}});
  return {{"threads", curve.threads}, {"points", points}};
}

ThreadCurve curve_from(const Json& json) {
  ThreadCurve curve;
  read(json, "threads", curve.threads);
  for (const Json& point : json.at("points"))
    curve.points.push_back({point.at("working_set_bytes").get<std::int64_t>(), point.at("bytes_per_s").get<double>()});
  return curve;
}

Json to_json(const LaunchOverhead& entry) {
  return {{"threads", entry.threads}, {"time_s", entry.time_s}};
}

Json to_json(const AbsentCeiling& entry) {
  return {{"unit", entry.unit}, {"dtype", entry.dtype}, {"isa", entry.isa}, {"reason", entry.reason}};
}

AbsentCeiling absent_from(const Json& json) {
  AbsentCeiling entry;
  read(json, "unit", entry.unit);
  read(json, "dtype", entry.dtype);
  read(json, "isa", entry.isa);
  read(json, "reason", entry.reason);
  return entry;
}

template <typename T>
Json list_to_json(const std::vector<T>& entries) {
  Json list = Json::array();
  for (const T& entry : entries)
    list.push_back(to_json(entry));
  return list;
}

template <typename T, typename From>
void read_list(const Json& json, const char* key, std::vector<T>& into, From from) {
  for (const Json& entry : json.at(key))
    into.push_back(from(entry));
}

Machine read_machine(const Json& json) {
  Machine machine;
  read(json, "schema_version", machine.schema_version);
  if (machine.schema_version != kMachineSchemaVersion)
    throw operators::Error(operators::ErrorKind::kInvalid,
                           fmt::format("the machine file has schema version {}, this program reads {}",
                                       machine.schema_version, kMachineSchemaVersion));
  read(json, "fingerprint", machine.fingerprint);
  machine.environment = environment_from(json.at("environment"));
  const Json& timer = json.at("timer");
  read(timer, "name", machine.timer);
  read_optional(timer, "resolution_s", machine.timer_resolution_s);
  read_optional(timer, "overhead_s", machine.timer_overhead_s);
  read_optional(json, "cpu_clock_hz", machine.cpu_clock_hz);
  read_list(json, "compute", machine.compute, compute_from);
  read_list(json, "bandwidth", machine.bandwidth, bandwidth_from);
  read_list(json, "levels", machine.levels, level_from);
  read_list(json, "curves", machine.curves, curve_from);
  read_list(json, "absent", machine.absent, absent_from);
  read(json, "notes", machine.notes);
  // Files of earlier programs lack these; the ceilings in them are as good.
  if (json.contains("launch_overheads"))
    for (const Json& entry : json.at("launch_overheads"))
      machine.launch_overheads.push_back({entry.at("threads").get<int>(), entry.at("time_s").get<double>()});
  read_optional(json, "measured_on", machine.measured_on);
  return machine;
}

} // namespace

nlohmann::ordered_json environment_to_json(const Environment& environment) {
  Json kinds = Json::array();
  for (const CoreKind& kind : environment.core_kinds)
    kinds.push_back({{"name", kind.name}, {"cpus", kind.cpus}});
  return {{"cpu_model", value_or_null(environment.cpu_model)},
          {"isa_flags", environment.isa_flags},
          {"cores", environment.cores},
          {"cpus", environment.cpus},
          {"physical_cores", environment.physical_cores},
          {"quota_cores", value_or_null(environment.quota_cores)},
          {"core_kinds", kinds},
          {"caches", list_to_json(environment.caches)},
          {"smt", value_or_null(environment.smt)},
          {"governor", value_or_null(environment.governor)},
          {"turbo", value_or_null(environment.turbo)},
          {"hypervisor", value_or_null(environment.hypervisor)},
          {"huge_pages", value_or_null(environment.huge_pages)},
          {"memory_available_bytes", value_or_null(environment.memory_available_bytes)},
          {"kernel", value_or_null(environment.kernel)},
          {"version", environment.version},
          {"commit", environment.commit},
          {"compiler", environment.compiler},
          {"build_type", environment.build_type},
          {"assertions", environment.assertions}};
}

nlohmann::ordered_json machine_to_json(const Machine& machine) {
  return {{"schema_version", machine.schema_version},
          {"fingerprint", machine.fingerprint},
          {"measured_on", value_or_null(machine.measured_on)},
          {"environment", environment_to_json(machine.environment)},
          {"timer",
           {{"name", machine.timer},
            {"resolution_s", value_or_null(machine.timer_resolution_s)},
            {"overhead_s", value_or_null(machine.timer_overhead_s)}}},
          {"cpu_clock_hz", value_or_null(machine.cpu_clock_hz)},
          {"compute", list_to_json(machine.compute)},
          {"bandwidth", list_to_json(machine.bandwidth)},
          {"levels", list_to_json(machine.levels)},
          {"curves", list_to_json(machine.curves)},
          {"absent", list_to_json(machine.absent)},
          {"launch_overheads", list_to_json(machine.launch_overheads)},
          {"notes", machine.notes}};
}

Machine machine_from_json(const nlohmann::ordered_json& json) {
  try {
    return read_machine(json);
  } catch (const nlohmann::json::exception& error) {
    throw operators::Error(operators::ErrorKind::kInvalid,
                           fmt::format("the machine file is malformed ({})", error.what()));
  }
}

} // namespace attnprof::profilers
