// The files that are made from the column table stay in step with it, and real documents satisfy the schema.
#include "reports/derive.hpp"
#include "reports/record_json.hpp"
#include "reports/schema.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/reports_records.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

using namespace attnprof;
using namespace attnprof::reports;

namespace {

std::string checked_in(const std::string& path) {
  std::ifstream stream(tests::source_dir() / path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// ATTNPROF_UPDATE_GOLDEN=1 writes the file instead of comparing.
void check_in_step(const std::string& path, const std::string& text) {
  if (std::getenv("ATTNPROF_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(tests::source_dir() / path, std::ios::binary) << text;
  }
  INFO(path << " is out of step: run this test with ATTNPROF_UPDATE_GOLDEN=1");
  CHECK((checked_in(path) == text));
}

/// The part of JSON Schema that reports/schema.json uses.
class Checker {
 public:
  explicit Checker(const Json& root) : root_(root) {}

  /// Empty: valid; else where and what.
  std::string fault(const Json& value, const Json& schema, const std::string& at = "") const {
    for (const auto& entry : schema.items()) {
      const std::string found = keyword(entry.key(), entry.value(), schema, value, at);
      if (!found.empty()) {
        return found;
      }
    }
    return {};
  }

 private:
  static bool has_type(const Json& value, const std::string& type) {
    if (type == "integer") {
      return value.is_number_integer();
    }
    return type == (value.is_number() ? "number" : value.type_name());
  }

  std::string keyword(const std::string& key, const Json& rule, const Json& schema, const Json& value,
                      const std::string& at) const {
    if (key == "type") {
      const Json types = rule.is_array() ? rule : Json::array({rule});
      const bool fits = std::any_of(types.begin(), types.end(),
                                    [&](const Json& type) { return has_type(value, type.get<std::string>()); });
      return fits ? "" : at + ": wrong type " + value.dump();
    }
    if (key == "enum") {
      return std::find(rule.begin(), rule.end(), value) != rule.end() ? "" : at + ": not in enum " + value.dump();
    }
    if (key == "const") {
      return value == rule ? "" : at + ": not " + rule.dump();
    }
    if (key == "required") {
      for (const Json& name : rule) {
        if (!value.contains(name.get<std::string>())) {
          return at + ": lacks " + name.dump();
        }
      }
      return {};
    }
    if (key == "properties") {
      return each_property(rule, value, at);
    }
    if (key == "additionalProperties") {
      for (const auto& entry : value.items()) {
        const bool is_named = schema.contains("properties") && schema["properties"].contains(entry.key());
        const std::string found = is_named ? "" : fault(entry.value(), rule, at + "/" + entry.key());
        if (!found.empty()) {
          return found;
        }
      }
      return {};
    }
    if (key == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        const std::string found = fault(value[i], rule, at + "/" + std::to_string(i));
        if (!found.empty()) {
          return found;
        }
      }
      return {};
    }
    if (key == "$ref") {
      return fault(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), at);
    }
    if (key == "allOf" || key == "anyOf") {
      return of_several(key == "allOf", rule, value, at);
    }
    static const std::set<std::string> kComments = {"$schema", "$defs", "title", "description"};
    return kComments.count(key) == 1 ? "" : "the checker does not know " + key;
  }

  std::string each_property(const Json& rule, const Json& value, const std::string& at) const {
    for (const auto& entry : rule.items()) {
      const std::string found =
          value.contains(entry.key()) ? fault(value[entry.key()], entry.value(), at + "/" + entry.key()) : "";
      if (!found.empty()) {
        return found;
      }
    }
    return {};
  }

  std::string of_several(bool all, const Json& rules, const Json& value, const std::string& at) const {
    std::string last;
    for (const Json& rule : rules) {
      last = fault(value, rule, at);
      if (last.empty() != all) {
        return last;
      }
    }
    return last;
  }

  const Json& root_;
};

std::vector<profilers::Record> records_of_every_kind() {
  profilers::Record measured = tests::measured_record();
  derive(measured, tests::round_roofs());
  profilers::Record counted = tests::counted_record("gqa");
  profilers::Record predicted = tests::counted_record("cga");
  derive(predicted, tests::round_roofs());
  profilers::Record invalid;
  invalid.id = "variant=mha:heads=5";
  invalid.status = profilers::Status::kInvalid;
  invalid.reason = "heads 5 do not divide dim 192";
  profilers::Record failed = tests::counted_record("linear");
  failed.status = profilers::Status::kFailed;
  failed.reason = "std::bad_alloc";
  failed.threads = 2;
  return {measured, counted, predicted, invalid, failed};
}

} // namespace

TEST_CASE("docs/columns.md and reports/schema.json are in step with the column table") {
  check_in_step("docs/columns.md", columns_markdown());
  check_in_step("reports/schema.json", json_schema_text());
}

TEST_CASE("every kind of record satisfies the schema, as document and as line") {
  const Json schema = parse_json(checked_in("reports/schema.json"), "schema.json");
  const Checker checker(schema);
  CHECK(checker.fault(cases_document(records_of_every_kind()), schema) == "");
  CHECK(checker.fault(cases_document(records_of_every_kind(), false), schema) == "");
  for (const profilers::Record& record : records_of_every_kind()) {
    CHECK(checker.fault(parse_json(record_line(record), "line"), schema) == "");
  }
}

TEST_CASE("the schema refuses what is wrong") {
  const Json schema = parse_json(checked_in("reports/schema.json"), "schema.json");
  const Checker checker(schema);
  const Json good = cases_document(records_of_every_kind());
  Json bad = good;
  bad["schema_version"] = 2;
  CHECK(checker.fault(bad, schema) != "");
  bad = good;
  bad["cases"][0]["totals"]["macs"] = 1.5;
  CHECK(checker.fault(bad, schema) != "");
  bad = good;
  bad["cases"][0]["measured"].erase("time_median_s");
  CHECK(checker.fault(bad, schema) != "");
  bad = good;
  bad["cases"][1]["status"] = "fine";
  CHECK(checker.fault(bad, schema) != "");
  bad = good;
  bad["cases"][0]["kernels"][1]["op"] = 3;
  CHECK(checker.fault(bad, schema) != "");
}

TEST_CASE("the column table is complete: a sentence, an origin and a unit for every number") {
  std::set<std::string> names;
  const auto check = [](const ColumnSpec& spec) {
    INFO(spec.name);
    CHECK(spec.definition.size() > 10);
    CHECK(spec.definition.back() == '.');
    if (spec.group != Group::kConfig && (spec.type == Type::kInteger || spec.type == Type::kReal)) {
      CHECK_FALSE(spec.unit.empty());
    }
    if (spec.name.ends_with("_s") && !spec.name.ends_with("_per_s")) {
      CHECK(spec.unit == "s");
    }
    if (spec.name.ends_with("_bytes")) {
      CHECK(spec.unit == "B");
    }
  };
  for (const CaseColumn& column : case_columns()) {
    check(column.spec);
    CHECK(names.insert(column.spec.name).second);
  }
  for (const KernelColumn& column : kernel_columns()) {
    check(column.spec);
  }
}
