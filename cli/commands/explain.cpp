#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "reports/record_json.hpp"
#include "reports/schema.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::ColumnSpec;
using reports::Json;

struct Explained {
  const ColumnSpec* spec;
  std::string file;
};

std::vector<Explained> everything() {
  std::vector<Explained> out;
  for (const reports::CaseColumn& column : reports::case_columns()) {
    out.push_back({&column.spec, "results.csv"});
  }
  for (const reports::KernelColumn& column : reports::kernel_columns()) {
    if (column.spec.group == reports::Group::kKernel) {
      out.push_back({&column.spec, "kernels.csv"});
    }
  }
  return out;
}

/// A metric can be a column of cases and of launches.
std::vector<Explained> find(const std::string& name) {
  std::vector<Explained> found;
  std::vector<std::string> known;
  for (const Explained& one : everything()) {
    known.push_back(one.spec->name);
    if (one.spec->name == name) {
      found.push_back(one);
    }
  }
  if (found.empty()) {
    const std::string near = operators::nearest_name(name, known);
    throw Error(ErrorKind::kUsage, fmt::format("no metric is called '{}'{}; attnprof explain without a name lists all",
                                               name, near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
  }
  return found;
}

std::string meaning_of(reports::Origin origin) {
  switch (origin) {
  case reports::Origin::kRequest: return "asked for, or decided by the program";
  case reports::Origin::kClosedForm: return "counted exactly, the same on every machine";
  case reports::Origin::kModel:
    return "counted under a stated assumption: each operand crosses a launch's boundary once";
  case reports::Origin::kTimer: return "measured by a clock";
  case reports::Origin::kCounter: return "counted by the processor or the operating system";
  case reports::Origin::kSpec: return "from a data sheet or given on the command line";
  case reports::Origin::kDerived: return "computed from other columns";
  }
  return {};
}

std::string text_of(const Explained& one) {
  const ColumnSpec& spec = *one.spec;
  const std::string unit = spec.unit.empty()  ? ""
                           : spec.unit == "1" ? ", a plain number"
                                              : fmt::format(", in {}", spec.unit);
  std::string out = fmt::format("{} ({}{})\n  {}\n", spec.name, name_of(spec.type), unit, spec.definition);
  if (!spec.formula.empty()) {
    out += fmt::format("  formula: {}\n", spec.formula);
  }
  return out + fmt::format("  origin:  {}: {}\n  in:      {}, JSON {}\n", name_of(spec.origin), meaning_of(spec.origin),
                           one.file, name_of(spec.group));
}

Json json_of(const Explained& one) {
  const ColumnSpec& spec = *one.spec;
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"name", spec.name},
          {"unit", text(spec.unit)},
          {"type", name_of(spec.type)},
          {"group", name_of(spec.group)},
          {"origin", name_of(spec.origin)},
          {"definition", spec.definition},
          {"formula", text(spec.formula)},
          {"file", one.file}};
}

int explain(const Arguments& arguments, Context& context) {
  const std::vector<std::string>& names = arguments.positionals();
  std::vector<Explained> chosen;
  for (const std::string& name : names) {
    const std::vector<Explained> found = find(name);
    chosen.insert(chosen.end(), found.begin(), found.end());
  }
  if (names.empty()) {
    chosen = everything();
  }
  if (arguments.given("--json")) {
    Json list = Json::array();
    for (const Explained& one : chosen) {
      list.push_back(json_of(one));
    }
    context.out << reports::json_text({{"schema_version", reports::kSchemaVersion}, {"metrics", list}}, 1) << '\n';
    return kExitOk;
  }
  for (const Explained& one : chosen) {
    if (names.empty()) {
      context.out << fmt::format("{:28} {}\n", one.spec->name, one.spec->definition);
    } else {
      context.out << text_of(one);
    }
  }
  return kExitOk;
}

} // namespace

Command explain_command() {
  Command out;
  out.name = "explain";
  out.summary = "what a metric is: definition, unit, formula and origin";
  out.details = "Without a name, all metrics with one line each.\n";
  out.usage = "[METRIC...] [--json]";
  out.positional = "metric";
  out.options = {{"--json", "", "", "print as JSON", OptionGroup::kOutput}};
  out.examples = {"explain intensity", "explain time_median_s roof_fraction --json"};
  out.run = explain;
  return out;
}

} // namespace attnprof::cli
