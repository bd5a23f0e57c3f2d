#include "reports/writers/gbench.hpp"

#include "reports/record_json.hpp"
#include "reports/schema.hpp"

namespace attnprof::reports {
namespace {

using profilers::Record;
using profilers::Status;

Json context_of(const ResultSet& results) {
  Json out = {{"executable", "attnprof"}, {"json_schema_version", 1}};
  if (!results.machine) {
    return out;
  }
  const profilers::Machine& machine = *results.machine;
  const profilers::Environment& environment = machine.environment;
  if (machine.measured_on) {
    out["date"] = *machine.measured_on;
  }
  out["num_cpus"] = environment.cores;
  if (machine.cpu_clock_hz) {
    out["mhz_per_cpu"] = static_cast<std::int64_t>(*machine.cpu_clock_hz / 1e6);
  }
  out["caches"] = Json::array();
  for (const profilers::Cache& cache : environment.caches) {
    out["caches"].push_back({{"type", cache.kind == "data" ? "Data" : "Unified"},
                             {"level", cache.level},
                             {"size", cache.size_bytes},
                             {"num_sharing", cache.shared_by}});
  }
  out["library_build_type"] = environment.assertions ? "debug" : "release";
  out["machine_fingerprint"] = machine.fingerprint;
  return out;
}

void add_figures(Json& out, const Record& record) {
  for (const CaseColumn& column : case_columns()) {
    if (column.spec.group != Group::kTotals) {
      continue;
    }
    const Cell cell = column.get(record);
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
      out[column.spec.name] = *whole;
    } else if (const auto* real = std::get_if<double>(&cell)) {
      out[column.spec.name] = *real;
    }
  }
  for (const auto& [theirs, ours] :
       {std::pair("items_per_second", "items_per_s"), std::pair("bytes_per_second", "bytes_per_s"),
        std::pair("flops_per_second", "flops_per_s"), std::pair("roof_fraction", "roof_fraction")}) {
    const Cell cell = case_column(ours).get(record);
    if (const auto* real = std::get_if<double>(&cell)) {
      out[theirs] = *real;
    }
  }
}

Json benchmark_of(const Record& record, std::size_t index) {
  Json out = {{"name", record.id},
              {"family_index", index},
              {"per_family_instance_index", 0},
              {"run_name", record.id},
              {"run_type", "iteration"},
              {"repetitions", 1},
              {"repetition_index", 0},
              {"threads", 1}}; // as Google counts them: instances of the benchmark at once
  const double time_s = record.measured ? record.measured->time_median_s.value_or(0.0) : 0.0;
  if (record.status != Status::kOk || !(time_s > 0.0)) {
    out["error_occurred"] = true;
    out["error_message"] =
        std::string(name_of(record.status)) + (record.reason.empty() ? ": nothing was measured" : ": " + record.reason);
    return out;
  }
  constexpr double kNanoseconds = 1e9;
  out["iterations"] =
      static_cast<std::int64_t>(record.measured->samples_s.size()) * record.measured->iterations_per_sample;
  out["real_time"] = time_s * kNanoseconds;
  out["cpu_time"] = time_s * kNanoseconds;
  out["time_unit"] = "ns";
  out["label"] = "median of wall times; cpu_time repeats real_time";
  add_figures(out, record);
  return out;
}

} // namespace

std::string gbench_json(const ResultSet& results) {
  Json out = {{"context", context_of(results)}, {"benchmarks", Json::array()}};
  for (std::size_t i = 0; i < results.records.size(); ++i) {
    out["benchmarks"].push_back(benchmark_of(results.records[i], i));
  }
  return json_text(out, 2) + "\n";
}

} // namespace attnprof::reports
