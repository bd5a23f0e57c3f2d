#include "reports/record_json.hpp"

#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/concurrent.hpp"
#include "reports/record_values.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using profilers::Measurement;
using profilers::Record;
using profilers::RoofVerdict;

struct CellToJson {
  Json operator()(std::monostate /*absent*/) const { return nullptr; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  Json operator()(bool value) const { return value; }
  Json operator()(const std::string& value) const { return value; }
};

Json cell_json(const Cell& value) {
  return std::visit(CellToJson{}, value);
}

/// An object whose keys are known to differ: `[]` looks for each among all before, and growing copies what is there.
class NewObject {
 public:
  explicit NewObject(std::size_t keys) { object_.reserve(keys); }
  void add(const std::string& name, Json value) { object_.emplace_back(name, std::move(value)); }
  Json take() { return Json(std::move(object_)); }

 private:
  Json::object_t object_;
};

/// The columns of one group.
void add_group(NewObject& out, const Record& record, Group group) {
  for (const CaseColumn& column : case_columns()) {
    if (column.spec.group == group) {
      out.add(column.spec.name, cell_json(column.get(record)));
    }
  }
}

Json config_json(const Record& record) {
  NewObject known(operators::all_params().size() + record.config.values().size());
  for (const operators::ParamSpec& param : operators::all_params()) {
    known.add(param.name, cell_json(record.config.get(param.name)));
  }
  Json out = known.take();
  for (const auto& [name, value] : record.config.values()) {
    if (!out.contains(name)) {
      out[name] = cell_json(value);
    }
  }
  return out;
}

Json kernels_json(const Record& record) {
  Json out = Json::array();
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    NewObject kernel(kernel_columns().size());
    for (const KernelColumn& column : kernel_columns()) {
      if (column.spec.group == Group::kKernel) {
        kernel.add(column.spec.name, cell_json(column.get(record, i)));
      }
    }
    out.push_back(kernel.take());
  }
  return out;
}

/// One list a quantity; null where no sample has it.
template <class F>
Json condition_list(const Measurement& measured, F get) {
  Json out = Json::array();
  bool any = false;
  for (const profilers::SampleConditions& condition : measured.conditions) {
    const Cell value = get(condition) ? Cell(*get(condition)) : Cell();
    any = any || !std::holds_alternative<std::monostate>(value);
    out.push_back(cell_json(value));
  }
  return any ? out : Json(nullptr);
}

Json measured_json(const Record& record, bool with_samples) {
  NewObject columns(case_columns().size());
  add_group(columns, record, Group::kMeasured);
  add_group(columns, record, Group::kRoof);
  Json out = columns.take();
  const Measurement& measured = *record.measured;
  out["warnings"] = measured.warnings;
  if (with_samples) {
    Json samples = Json::array();
    for (const double sample : measured.samples_s) {
      samples.push_back(cell_json(sample));
    }
    out["samples_s"] = std::move(samples);
    Json& conditions = out["sample_conditions"] = Json::object();
    conditions["count"] = static_cast<std::int64_t>(measured.conditions.size());
    conditions["steal_s"] = condition_list(measured, [](const auto& c) { return c.steal_s; });
    conditions["page_faults"] = condition_list(measured, [](const auto& c) { return c.page_faults; });
    conditions["context_switches"] = condition_list(measured, [](const auto& c) { return c.context_switches; });
    conditions["cpu_clock_hz"] = condition_list(measured, [](const auto& c) { return c.cpu_clock_hz; });
    conditions["probe_ops_per_cycle"] = condition_list(measured, [](const auto& c) { return c.issue_rate; });
  }
  return out;
}

Json predicted_json(const Record& record) {
  if (!is_known(record.roof)) {
    return nullptr;
  }
  Json out = Json::object();
  for (const CaseColumn& column : case_columns()) {
    if (column.spec.group == Group::kRoof && column.spec.name.find("share") == std::string::npos &&
        column.spec.name != "roof_fraction") {
      out[column.spec.name] = cell_json(column.get(record));
    }
  }
  return out;
}

Json attempt_json(const Record& record) {
  if (record.kernel_impl.empty() && record.threads == 0 && record.counter_origin.empty() &&
      record.energy_origin.empty()) {
    return nullptr;
  }
  return {{"kernel_impl", record.kernel_impl},
          {"threads", record.threads},
          {"processors", record.processors.empty() ? Json(nullptr) : Json(record.processors)},
          {"counter_origin", record.counter_origin},
          {"energy_origin", record.energy_origin.empty() ? Json(nullptr) : Json(record.energy_origin)}};
}

} // namespace

Json record_to_json(const Record& record, bool with_samples) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(16);
  out["id"] = record.id;
  out["config"] = config_json(record);
  out["status"] = std::string(name_of(record.status));
  out["reason"] = record.reason.empty() ? Json(nullptr) : Json(record.reason);
  out["warnings"] = record.warnings;
  if (record.totals) {
    NewObject totals(case_columns().size());
    add_group(totals, record, Group::kTotals);
    out["totals"] = totals.take();
  } else {
    out["totals"] = nullptr;
  }
  out["kernels"] = kernels_json(record);
  out["measured"] = record.measured ? measured_json(record, with_samples) : Json(nullptr);
  out["predicted"] = record.measured ? Json(nullptr) : predicted_json(record);
  out["attempt"] = record.measured ? Json(nullptr) : attempt_json(record);
  out["max_relative_error"] = cell_json(record.max_relative_error ? Cell(*record.max_relative_error) : Cell());
  out["verified_by"] = record.verified_by.empty() ? Json(nullptr) : Json(record.verified_by);
  out["machine_fingerprint"] = record.machine_fingerprint.empty() ? Json(nullptr) : Json(record.machine_fingerprint);
  return out;
}

Json cases_document(const std::vector<Record>& records, bool with_samples) {
  Json cases = Json::array();
  for (const Record& record : records) {
    cases.push_back(record_to_json(record, with_samples));
  }
  Json out = Json::object();
  out["schema_version"] = kSchemaVersion;
  out["cases"] = std::move(cases);
  return out;
}

std::string cases_text(const std::vector<Record>& records) {
  if (records.empty()) {
    return json_text(cases_document(records), 1);
  }
  const std::string head = fmt::format("{{\n \"schema_version\": {},\n \"cases\": [", kSchemaVersion);
  return joined_texts(head, records.size(), usable_threads(),
                      [&](std::size_t i, std::string& text) {
                        // Its line ends are those of the layout alone.
                        const std::string record = json_text(record_to_json(records[i]), 1);
                        text += i == 0 ? "\n  " : ",\n  ";
                        std::size_t begin = 0;
                        for (std::size_t end = record.find('\n'); end != std::string::npos;
                             end = record.find('\n', begin)) {
                          text.append(record, begin, end - begin).append("\n  ");
                          begin = end + 1;
                        }
                        text.append(record, begin);
                      })
      .append("\n ]\n}");
}

std::string record_line(const Record& record) {
  Json out = Json::object();
  out["schema_version"] = kSchemaVersion;
  out.update(record_to_json(record));
  return json_text(out);
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& fault) {
    throw operators::Error(operators::ErrorKind::kUsage,
                           fmt::format("{} is no valid JSON (fault at byte {})", what, fault.byte));
  } catch (const Json::exception& fault) {
    throw operators::Error(operators::ErrorKind::kUsage, fmt::format("{} is no valid JSON: {}", what, fault.what()));
  }
}

} // namespace attnprof::reports
