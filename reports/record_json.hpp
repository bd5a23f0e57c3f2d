// Record <-> JSON. Strict: no NaN, no infinity, integers as integers, numbers that read back exactly.
#pragma once
#include "profilers/record.hpp"
#include "reports/schema.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

/// Keys keep the order of the column table.
using Json = nlohmann::ordered_json;

/// A case as `cost --json`, `run --json` and records.jsonl hold it:
/// {id, config, status, reason, warnings, totals, kernels, measured, predicted, attempt, ...}. `measured` is null where
/// nothing was measured; then `predicted` holds the roof of the case and `attempt` what is known of the run, if
/// anything. `with_samples` false leaves out the single samples.
Json record_to_json(const profilers::Record& record, bool with_samples = true);
/// Ignores unknown keys. Throws operators::Error(kUsage) that names the key and its value.
profilers::Record record_from_json(const Json& json);

/// {"schema_version": N, "cases": [...]}
Json cases_document(const std::vector<profilers::Record>& records, bool with_samples = true);
/// json_text(cases_document(records), 1), record by record: a document of ten thousand records takes gigabytes.
std::string cases_text(const std::vector<profilers::Record>& records);
/// Throws operators::Error(kUsage) for another schema version or a document of another shape.
std::vector<profilers::Record> records_from_document(const Json& document);

/// One line of records.jsonl, without line end: the case with `schema_version` in front.
std::string record_line(const profilers::Record& record);
profilers::Record record_from_line(std::string_view line);

/// Strict JSON text: non-finite numbers become null, bytes that are not UTF-8 become U+FFFD. `indent` -1: one line.
std::string json_text(const Json& json, int indent = -1);
/// Throws operators::Error(kUsage) with `what` ("records.jsonl line 3") and the position of the fault.
Json parse_json(std::string_view text, std::string_view what);

/// Throws operators::Error(kUsage) unless `json` states this program's schema version.
void check_schema_version(const Json& json, std::string_view what);

} // namespace attnprof::reports
