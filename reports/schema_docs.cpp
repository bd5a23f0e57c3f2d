// docs/columns.md and the JSON Schema, made from the column table. Parameters are described by their types only, so
// that a new variant or layout changes neither.
#include "reports/record_json.hpp"
#include "reports/schema.hpp"

#include <fmt/format.h>

namespace attnprof::reports {
namespace {

std::string table_head() {
  return "| column | unit | type | origin | definition | formula |\n| --- | --- | --- | --- | --- | --- |\n";
}

std::string table_row(const ColumnSpec& spec) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", spec.name, spec.unit, name_of(spec.type),
                     name_of(spec.origin), spec.definition, spec.formula);
}

std::string case_table(Group group) {
  std::string out = table_head();
  for (const CaseColumn& column : case_columns()) {
    if (column.spec.group == group) {
      out += table_row(column.spec);
    }
  }
  return out;
}

std::string_view json_type(Type type) {
  switch (type) {
  case Type::kText: return "string";
  case Type::kTextList: return "array";
  case Type::kInteger: return "integer";
  case Type::kReal: return "number";
  case Type::kFlag: return "boolean";
  }
  return "string";
}

Json nullable(std::string_view type) {
  return {{"type", Json::array({type, "null"})}};
}

Json property(const ColumnSpec& spec) {
  Json out = nullable(json_type(spec.type));
  out["description"] = spec.unit.empty() ? spec.definition : fmt::format("[{}] {}", spec.unit, spec.definition);
  return out;
}

/// An object whose keys must all be there; unknown keys are allowed, so that a newer program may add some.
Json object_schema(Json properties) {
  Json names = Json::array();
  for (const auto& entry : properties.items()) {
    names.push_back(entry.key());
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(names)}};
}

Json or_null(Json schema) {
  return {{"anyOf", Json::array({{{"type", "null"}}, std::move(schema)})}};
}

Json group_properties(std::initializer_list<Group> groups) {
  Json out = Json::object();
  for (const Group group : groups) {
    for (const CaseColumn& column : case_columns()) {
      if (column.spec.group == group) {
        out[column.spec.name] = property(column.spec);
      }
    }
  }
  return out;
}

Json measured_schema() {
  Json measured = object_schema(group_properties({Group::kMeasured, Group::kRoof}));
  measured["properties"]["samples_s"] = {
      {"type", "array"}, {"items", nullable("number")}, {"description", "[s] All samples in order."}};
  const auto list = [](std::string_view type) {
    return Json{{"type", Json::array({"array", "null"})}, {"items", nullable(type)}};
  };
  measured["properties"]["sample_conditions"] = object_schema({{"count", {{"type", "integer"}}},
                                                               {"steal_s", list("number")},
                                                               {"page_faults", list("integer")},
                                                               {"context_switches", list("integer")},
                                                               {"cpu_clock_hz", list("number")},
                                                               {"probe_ops_per_cycle", list("number")}});
  measured["properties"]["warnings"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  return measured;
}

Json kernel_schema() {
  Json properties = Json::object();
  for (const KernelColumn& column : kernel_columns()) {
    if (column.spec.group == Group::kKernel) {
      properties[column.spec.name] = property(column.spec);
    }
  }
  return object_schema(std::move(properties));
}

Json case_schema() {
  Json properties = Json::object();
  properties["id"] = {{"type", "string"}};
  properties["config"] = {
      {"type", "object"},
      {"additionalProperties", {{"type", Json::array({"string", "integer", "number", "boolean", "null"})}}},
      {"description", "Every workload parameter by the name of its flag, with _ for -."}};
  properties["status"] = {{"enum", Json::array({"ok", "skipped", "unsupported", "invalid", "incorrect", "failed"})}};
  properties["reason"] = nullable("string");
  properties["warnings"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  properties["totals"] = or_null(object_schema(group_properties({Group::kTotals})));
  properties["kernels"] = {{"type", "array"}, {"items", {{"$ref", "#/$defs/kernel"}}}};
  properties["measured"] = or_null({{"$ref", "#/$defs/measured"}});
  properties["predicted"] = nullable("object");
  properties["predicted"]["description"] = "Roof of a case that was not measured.";
  properties["attempt"] = nullable("object");
  properties["attempt"]["description"] = "What is known of the run of a case that was not measured.";
  properties["max_relative_error"] = nullable("number");
  properties["verified_by"] = nullable("string");
  properties["machine_fingerprint"] = nullable("string");
  return object_schema(std::move(properties));
}

} // namespace

std::string columns_markdown() {
  std::string out =
      "# Columns\n\n"
      "Made from the column table in `reports/`; do not edit. `results.csv` has the columns of all groups but kernel,\n"
      "`kernels.csv` has those of kernel; in JSON they are keys of the same names. An absent value is an empty cell,\n"
      "`null`, or `-`; it is never 0. Counts are whole, other numbers have as many digits as it takes to read them "
      "back\n"
      "exactly. Units are SI: 1 GB/s is 10^9 bytes a second.\n\n"
      "Origins: *request* asked for or decided by the program; *closed form* counted exactly; *model* counted under "
      "the\n"
      "stated assumption; *timer* a clock; *counter* of the processor or the operating system; *derived* computed "
      "from\n"
      "other columns.\n\n";
  out += "## case\n\n" + case_table(Group::kCase);
  out +=
      "\n## config\n\nOne column for each parameter of `attnprof list`, by the name of its flag with `_` for `-`, "
      "empty where the workload does\nnot take it. The parameter `threads` has no column here, since `threads` below "
      "holds the number used; JSON has both.\n";
  out += "\n## totals\n\n" + case_table(Group::kTotals);
  out += "\n## measured\n\n" + case_table(Group::kMeasured);
  out += "\n## roof\n\n" + case_table(Group::kRoof);
  out += "\n## kernel\n\n" + table_head();
  for (const KernelColumn& column : kernel_columns()) {
    out += table_row(column.spec);
  }
  return out;
}

std::string json_schema_text() {
  Json out = Json::object();
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  out["title"] = "attnprof cases";
  out["description"] = "The output of cost --json and run --json, or one line of records.jsonl.";
  out["$defs"] = {{"kernel", kernel_schema()}, {"measured", measured_schema()}, {"case", case_schema()}};
  const Json version = {{"const", kSchemaVersion}};
  Json document = object_schema(
      {{"schema_version", version}, {"cases", {{"type", "array"}, {"items", {{"$ref", "#/$defs/case"}}}}}});
  Json line = {{"allOf", Json::array({object_schema({{"schema_version", version}}), {{"$ref", "#/$defs/case"}}})}};
  out["anyOf"] = Json::array({std::move(document), std::move(line)});
  return json_text(out, 2) + "\n";
}

} // namespace attnprof::reports
