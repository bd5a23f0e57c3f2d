// JSON -> Record, keys in the order in which they are written, which finds them without a search. Columns that follow
// from others (rates, shares of launches) are not read but computed again.
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/json_reader.hpp"
#include "reports/record_json.hpp"
#include "reports/record_parser.hpp"
#include "reports/record_values.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>

namespace attnprof::reports {
namespace {

using profilers::LaunchRecord;
using profilers::Measurement;
using profilers::Record;
using profilers::RoofVerdict;

/// Reals stay reals although JSON writers of other languages drop a zero fraction.
operators::ParamKind kind_of(std::string_view name) {
  const auto& params = operators::all_params();
  const auto found = std::find_if(params.begin(), params.end(), [&](const auto& param) { return param.name == name; });
  return found == params.end() ? operators::ParamKind::kText : found->kind;
}

operators::Config read_config(const JsonReader& reader) {
  operators::Config out;
  const JsonNode object = reader.node();
  for (JsonNode key = object.first(); key != object.end(); key = key.next().next()) {
    const std::string_view name = key.text();
    const JsonNode value = key.next();
    switch (value.kind()) {
    case JsonKind::kNull: break;
    case JsonKind::kFlag: out.set(name, value.flag()); break;
    case JsonKind::kText: out.set(name, std::string(value.text())); break;
    case JsonKind::kReal: out.set(name, value.real()); break;
    case JsonKind::kInteger:
    case JsonKind::kLargeInteger:
      if (kind_of(name) == operators::ParamKind::kReal) {
        out.set(name, value.real());
        break;
      }
      if (value.kind() == JsonKind::kInteger) {
        out.set(name, value.integer());
        break;
      }
      [[fallthrough]];
    case JsonKind::kArray:
    case JsonKind::kObject: reader.reject(name, "a number, a text, true, false or null");
    }
  }
  return out;
}

operators::Work read_work(const JsonReader& reader) {
  operators::Work out;
  out.macs = reader.needed_integer("macs");
  out.vector_flops = reader.needed_integer("vector_flops");
  out.transcendentals = reader.needed_integer("transcendentals");
  out.useful_macs = reader.needed_integer("useful_macs");
  return out;
}

operators::Totals read_totals(const JsonReader& reader) {
  operators::Totals out;
  out.work = read_work(reader);
  out.bytes_read = reader.needed_integer("bytes_read");
  out.bytes_written = reader.needed_integer("bytes_written");
  out.compulsory_bytes = reader.needed_integer("compulsory_bytes");
  out.params = reader.needed_integer("params");
  out.active_params = reader.integer("active_params").value_or(out.params.value());
  out.weight_bytes = reader.needed_integer("weight_bytes");
  out.kv_cache_bytes = reader.integer("kv_cache_bytes").value_or(0);
  out.peak_activation_bytes = reader.needed_integer("peak_activation_bytes");
  out.launches = reader.needed_integer("launches");
  return out;
}

profilers::GpuCounts read_gpu_counts(const JsonReader& reader) {
  profilers::GpuCounts out;
  for (const profilers::GpuQuantity quantity : profilers::kGpuQuantities) {
    out.values[static_cast<std::size_t>(quantity)] = reader.real(name_of(quantity));
  }
  return out;
}

/// Absent where no device is named: the case ran on the host.
std::optional<profilers::DeviceReport> read_device(const JsonReader& reader) {
  profilers::DeviceReport out;
  out.name = reader.text("device_name");
  if (out.name.empty()) {
    return std::nullopt;
  }
  out.level = reader.text("device_level");
  out.level_reason = reader.text("device_level_reason");
  out.kernel_time_s = reader.real("kernel_time_s");
  out.launch_gap_s = reader.real("launch_gap_s");
  out.kernels = reader.integer("device_kernels");
  out.sm_clock_hz = reader.real("sm_clock_hz");
  out.memory_clock_hz = reader.real("memory_clock_hz");
  out.temperature_c = reader.real("temperature_c");
  out.power_w = reader.real("power_w");
  out.throttled_samples = reader.integer("throttled_samples");
  out.throttle_reasons = reader.text("throttle_reasons");
  out.counts = read_gpu_counts(reader);
  return out;
}

LaunchRecord read_launch(const JsonReader& reader) {
  LaunchRecord out;
  out.cost.scope = reader.needed_text("scope");
  out.cost.op = reader.needed_text("op");
  out.cost.shape = reader.text("shape");
  out.cost.work = read_work(reader);
  out.cost.bytes.read = reader.needed_integer("bytes_read");
  out.cost.bytes.written = reader.needed_integer("bytes_written");
  out.cost.bytes.working_set = reader.needed_integer("working_set_bytes");
  out.cost.bytes.weights_read = reader.integer("weight_bytes_read").value_or(0); // records of earlier programs
  out.cost.bytes.cache_read = reader.integer("kv_cache_bytes_read").value_or(0);
  out.traffic.l2_bytes = reader.integer("modelled_l2_bytes");
  out.traffic.l3_bytes = reader.integer("modelled_l3_bytes");
  out.traffic.dram_bytes = reader.integer("modelled_dram_bytes");
  out.traffic.dram_fill_bytes = reader.integer("modelled_dram_fill_bytes");
  out.simulated.instructions = reader.integer("instructions");
  out.simulated.l1_misses = reader.integer("l1_misses");
  out.simulated.llc_misses = reader.integer("llc_misses");
  out.simulated.dram_bytes = reader.integer("dram_bytes");
  out.kernel_impl = reader.text("kernel_impl");
  out.time_median_s = reader.real("time_median_s");
  return out;
}

RoofVerdict read_roof(const JsonReader& reader) {
  RoofVerdict out;
  out.roof_time_s = reader.real("roof_time_s");
  out.attainable_flops_per_s = reader.real("attainable_flops_per_s");
  out.roof_fraction = reader.real("roof_fraction");
  out.bound = reader.text("bound");
  out.bound_margin = reader.real("bound_margin");
  out.roof_level = reader.text("roof_level");
  out.roof_traffic = reader.text("roof_traffic");
  out.implausible = reader.text("implausible");
  return out;
}

profilers::StopReason read_stop_reason(const JsonReader& reader) {
  using profilers::StopReason;
  const std::string name = reader.needed_text("stop_reason");
  for (const StopReason reason : {StopReason::kNoiseReached, StopReason::kMinTime, StopReason::kRepetitions,
                                  StopReason::kTimeout, StopReason::kSampleCap, StopReason::kInterrupted}) {
    if (name_of(reason) == name) {
      return reason;
    }
  }
  reader.reject("stop_reason", "a known reason");
}

std::optional<profilers::Stability> read_stability(const JsonReader& reader) {
  using profilers::Stability;
  const std::string name = reader.text("stability");
  if (name.empty()) {
    return {};
  }
  for (const Stability verdict :
       {Stability::kStable, Stability::kNoisy, Stability::kDrift, Stability::kThrottled, Stability::kTooShort}) {
    if (name_of(verdict) == name) {
      return verdict;
    }
  }
  reader.reject("stability", "STABLE, NOISY, DRIFT, THROTTLED or TOO_SHORT");
}

template <class T>
void read_condition(const JsonReader& reader, std::string_view key,
                    std::vector<profilers::SampleConditions>& conditions,
                    std::optional<T> profilers::SampleConditions::*member) {
  const std::optional<JsonNode> list = reader.find(key);
  if (!list) {
    return;
  }
  if (list->kind() != JsonKind::kArray || list->size() != conditions.size()) {
    reader.reject(key, "a list with an entry a sample");
  }
  JsonNode entry = list->first();
  for (std::size_t i = 0; i < conditions.size(); ++i, entry = entry.next()) {
    if (entry.is_number()) {
      conditions[i].*member =
          entry.kind() == JsonKind::kInteger ? static_cast<T>(entry.integer()) : static_cast<T>(entry.real());
    } else if (entry.kind() != JsonKind::kNull) {
      reader.reject(key, "a list of numbers and nulls");
    }
  }
}

void read_conditions(const JsonReader& reader, Measurement& out) {
  using profilers::SampleConditions;
  const std::int64_t count = reader.needed_integer("count");
  if (count != 0 && count != static_cast<std::int64_t>(out.samples_s.size())) {
    reader.reject("count", "the number of samples");
  }
  out.conditions.resize(static_cast<std::size_t>(count));
  read_condition(reader, "steal_s", out.conditions, &SampleConditions::steal_s);
  read_condition(reader, "page_faults", out.conditions, &SampleConditions::page_faults);
  read_condition(reader, "context_switches", out.conditions, &SampleConditions::context_switches);
  read_condition(reader, "cpu_clock_hz", out.conditions, &SampleConditions::cpu_clock_hz);
  read_condition(reader, "probe_ops_per_cycle", out.conditions, &SampleConditions::issue_rate);
}

profilers::CounterTotals read_counters(const JsonReader& reader) {
  profilers::CounterTotals out;
  out.cycles = reader.integer("cycles");
  out.instructions = reader.integer("instructions");
  out.l1_misses = reader.integer("l1_misses");
  out.l2_misses = reader.integer("l2_misses");
  out.llc_misses = reader.integer("llc_misses");
  out.dram_bytes = reader.integer("dram_bytes");
  out.dram_source = reader.text("dram_source");
  out.fp_ops = reader.integer("fp_ops");
  out.fp_ops_are_counted = reader.text("fp_ops_origin") == "counted";
  out.task_clock_s = reader.real("task_clock_s");
  out.cpu_migrations = reader.real("cpu_migrations");
  out.counter_coverage = reader.real("counter_coverage");
  out.counter_passes = reader.integer("counter_passes");
  out.counter_time_s = reader.real("counter_time_s");
  return out;
}

Measurement read_measured(const JsonReader& reader) {
  Measurement out;
  out.time_median_s = reader.real("time_median_s");
  out.time_min_s = reader.real("time_min_s");
  out.time_ci_low_s = reader.real("time_ci_low_s");
  out.time_ci_high_s = reader.real("time_ci_high_s");
  out.time_mad_s = reader.real("time_mad_s");
  out.stop_reason = read_stop_reason(reader);
  out.stability = read_stability(reader);
  out.stability_reason = reader.text("stability_reason");
  out.timer = reader.text("timer");
  out.timer_resolution_s = reader.real("timer_resolution_s");
  out.iterations_per_sample = reader.integer("iterations_per_sample").value_or(1);
  out.warmup_runs = reader.integer("warmup_runs").value_or(0);
  out.cpu_clock_hz = reader.real("cpu_clock_hz");
  out.issue_rate = reader.real("probe_ops_per_cycle");
  out.counters = read_counters(reader);
  out.page_faults = reader.integer("page_faults");
  out.context_switches = reader.integer("context_switches");
  out.steal_s = reader.real("steal_s");
  out.counters.package_energy_j = reader.real("package_energy_j");
  out.counters.dram_energy_j = reader.real("dram_energy_j");
  const std::string policy = reader.text("cache_policy");
  if (!policy.empty()) {
    const auto known = profilers::cache_policy_from(policy);
    if (!known) {
      reader.reject("cache_policy", "warm, cold, cold-weights or cold-kv");
    }
    out.cache_policy = *known;
  }
  out.warnings = reader.texts("warnings");
  out.samples_s = reader.reals("samples_s");
  if (const auto conditions = reader.object("sample_conditions")) {
    read_conditions(*conditions, out);
  }
  return out;
}

void read_run(const JsonReader& reader, Record& out) {
  out.kernel_impl = reader.text("kernel_impl");
  const std::int64_t threads = reader.integer("threads").value_or(0);
  if (threads < 0 || threads > std::numeric_limits<int>::max()) {
    reader.reject("threads", "a number of threads");
  }
  out.threads = static_cast<int>(threads);
  out.processors = reader.text("processors");
  out.counter_origin = reader.text("counter_origin");
  out.energy_origin = reader.text("energy_origin");
}

void read_launches(const JsonReader& reader, Record& out) {
  bool any_roof = false;
  const std::vector<JsonReader> kernels = reader.objects("kernels");
  out.launches.reserve(kernels.size());
  out.launch_roofs.reserve(kernels.size());
  for (const JsonReader& kernel : kernels) {
    out.launches.push_back(read_launch(kernel));
    out.launch_roofs.push_back(read_roof(kernel));
    out.launches.back().counts = read_gpu_counts(kernel);
    any_roof = any_roof || is_known(out.launch_roofs.back());
  }
  if (!any_roof) {
    out.launch_roofs.clear();
  }
}

} // namespace

namespace {

std::string name_of_case(JsonNode node) {
  if (node.kind() == JsonKind::kObject) {
    for (JsonNode key = node.first(); key != node.end(); key = key.next().next()) {
      if (key.text() == "id" && key.next().kind() == JsonKind::kText) {
        return fmt::format("case '{}'", key.next().text());
      }
    }
  }
  return "case";
}

Record record_from_node(JsonNode node) {
  const JsonReader reader(node, name_of_case(node));
  Record out;
  out.id = reader.needed_text("id");
  if (const auto config = reader.object("config")) {
    out.config = read_config(*config);
  }
  out.status = profilers::status_from_name(reader.needed_text("status"));
  out.reason = reader.text("reason");
  out.warnings = reader.texts("warnings");
  if (const auto totals = reader.object("totals")) {
    out.totals = read_totals(*totals);
  }
  read_launches(reader, out);
  if (const auto measured = reader.object("measured")) {
    out.measured = read_measured(*measured);
    out.roof = read_roof(*measured);
    out.memory_bound_time_share = measured->real("memory_bound_time_share");
    out.attention_time_share = measured->real("attention_time_share");
    read_run(*measured, out);
    out.device = read_device(*measured);
  }
  if (const auto predicted = reader.object("predicted")) {
    out.roof = read_roof(*predicted);
  }
  if (const auto attempt = reader.object("attempt")) {
    read_run(*attempt, out);
  }
  out.max_relative_error = reader.real("max_relative_error");
  out.verified_by = reader.text("verified_by");
  out.machine_fingerprint = reader.text("machine_fingerprint");
  return out;
}

void check_version(const JsonReader& reader, std::string_view what) {
  const auto version = reader.integer("schema_version");
  if (!version) {
    reader.reject("schema_version", fmt::format("{}", kSchemaVersion));
  }
  if (*version != kSchemaVersion) {
    throw operators::Error(
        operators::ErrorKind::kUsage,
        fmt::format("{} has schema version {}, and this program reads version {}: render it with the "
                    "program that wrote it, or measure again",
                    what, *version, kSchemaVersion));
  }
}

} // namespace

void check_schema_version(const Json& json, std::string_view what) {
  check_version(JsonReader(json, std::string(what)), what);
}

Record record_from_json(const Json& json) {
  return record_from_node(JsonDocument(json).root());
}

std::vector<Record> records_from_document(const Json& document) {
  const JsonReader reader(document, "the document");
  check_version(reader, "the document");
  std::vector<Record> out;
  if (!reader.find("cases")) {
    reader.reject("cases", "a list of cases");
  }
  for (const JsonReader& each : reader.objects("cases")) {
    out.push_back(record_from_node(each.node()));
  }
  return out;
}

Record RecordParser::read(std::string_view line, std::size_t readable) {
  parser_.read(line, "the line", document_, readable);
  check_version(JsonReader(document_.root(), "the line"), "the line");
  return record_from_node(document_.root());
}

Record record_from_line(std::string_view line) {
  return RecordParser().read(line);
}

} // namespace attnprof::reports
