#include "cli/batch_fit.hpp"
#include "cli/case_runner.hpp"
#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/machine_store.hpp"
#include "cli/options.hpp"
#include "cli/quantity.hpp"
#include "operators/core/error.hpp"
#include "reports/console.hpp"
#include "reports/derive.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"
#include "reports/writers/csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;

/// Lines are written in blocks of about this size.
constexpr std::size_t kOutputBlock = 64 * 1024;

/// A case that turns out to be impossible only while it is counted is a row among others and an error alone.
Record record_of(const PlannedCase& planned, bool alone, const profilers::Environment& environment) {
  try {
    CostedCase costed = cost_case(planned);
    add_modelled_traffic(costed.record, costed.launches, environment, profilers::CachePolicy::kWarm);
    return std::move(costed.record);
  } catch (const Error& error) {
    if (alone || (error.kind() != ErrorKind::kInvalid && error.kind() != ErrorKind::kOverflow)) {
      throw;
    }
    return rejected_record(planned, profilers::Status::kInvalid, error.what());
  }
}

std::string fit_sentence(const BatchFit& fit, std::int64_t memory_bytes) {
  const auto size = [](std::int64_t bytes) { return reports::si(static_cast<double>(bytes), "B"); };
  return fit.batch > 0 ? fmt::format("largest batch in {}: {}, with weights, caches and activations of {}",
                                     size(memory_bytes), fit.batch, size(fit.needed_bytes))
                       : fmt::format("largest batch in {}: none, since batch 1 needs {}", size(memory_bytes),
                                     size(fit.needed_bytes));
}

void print_costs(const Record& record, std::ostream& out) {
  out << record.id << '\n';
  if (record.status != profilers::Status::kOk) {
    out << profilers::name_of(record.status) << ": " << record.reason << "\n\n";
    return;
  }
  out << reports::cost_table(record) << reports::verdict_sentence(record) << "\n\n";
}

/// The id, the parameters that were given, and the totals but for those of the cache model, which wants the launches.
reports::CaseLines totals_lines(const PlanRequest& request, bool predicts) {
  const auto is_given = [&](const std::string& name) {
    return std::any_of(request.axes.begin(), request.axes.end(), [&](const Axis& axis) { return axis.name == name; }) ||
           std::any_of(request.ids.begin(), request.ids.end(), [&](const auto& id) { return id.has(name); });
  };
  const auto of_launches = [](const std::string& name) { return name.starts_with("modelled_"); };
  std::vector<const reports::CaseColumn*> columns;
  for (const reports::CaseColumn& column : reports::case_columns()) {
    const std::string& name = column.spec.name;
    const bool named = name == "id" || name == "status" || name == "reason";
    const bool predicted = predicts && (name == "roof_time_s" || name == "bound");
    const bool configured = column.spec.group == reports::Group::kConfig && is_given(name);
    const bool total = column.spec.group == reports::Group::kTotals && !of_launches(name);
    if (named || predicted || configured || total) {
      columns.push_back(&column);
    }
  }
  return reports::CaseLines(std::move(columns));
}

/// A line a case, as it is counted. An impossible case is a line among others and an error alone.
int print_totals(const Arguments& arguments, Context& context) {
  for (const char* flag : {"--json", "--memory"}) {
    if (arguments.given(flag)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--totals prints lines of totals, and {} something else: leave one out", flag));
    }
  }
  const PlanRequest request = plan_request(arguments);
  const std::optional<profilers::Machine> machine =
      arguments.given("--hw") ? known_machine(arguments, context) : std::nullopt;
  std::optional<reports::RoofTable> roofs;
  if (machine) {
    roofs.emplace(*machine);
  }
  const reports::CaseLines lines = totals_lines(request, roofs.has_value());
  TotalsCounter counter;
  std::string out;
  lines.append_header(out);
  std::size_t count = 0;
  std::optional<Error> first_fault;
  const auto flush = [&](std::size_t most) {
    if (out.size() > most && !(count == 1 && first_fault)) {
      context.out << out;
      out.clear();
    }
  };
  Record record; // one for all cases
  for_each_case(request, [&](PlannedCase& planned) {
    try {
      if (roofs) {
        record = cost_case(planned).record;
        reports::predict(record, roofs->roofs_for(record));
      } else {
        record.totals = counter.count(planned);
        record.status = profilers::Status::kOk;
        record.reason.clear();
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInvalid && error.kind() != ErrorKind::kOverflow) {
        throw;
      }
      first_fault = count == 0 ? std::optional(error) : first_fault;
      record = rejected_record(planned, profilers::Status::kInvalid, error.what());
    }
    ++count;
    // Lent for the line: a copy of both costs more than to print them.
    std::swap(record.id, planned.id);
    std::swap(record.config, planned.config);
    lines.append(record, out);
    std::swap(record.id, planned.id);
    std::swap(record.config, planned.config);
    flush(kOutputBlock);
  });
  if (count == 1 && first_fault) {
    throw Error(*first_fault);
  }
  flush(0);
  return 0;
}

int cost(const Arguments& arguments, Context& context) {
  if (arguments.given("--totals")) {
    return print_totals(arguments, context);
  }
  const SweepPlan plan = plan_sweep(plan_request(arguments));
  const std::optional<profilers::Machine> machine = known_machine(arguments, context);
  const profilers::Environment environment = machine ? machine->environment : context.seams.environment();
  std::optional<reports::RoofTable> roofs;
  if (machine) {
    roofs.emplace(*machine);
  }
  std::vector<Record> records;
  for (const PlannedCase& planned : plan.cases) {
    records.push_back(record_of(planned, plan.cases.size() == 1, environment));
    if (roofs) {
      reports::predict(records.back(), roofs->roofs_for(records.back()));
    }
  }
  const std::optional<std::string> memory = arguments.text("--memory");
  const std::int64_t memory_bytes = memory ? parse_bytes("--memory", *memory) : 0;
  if (arguments.given("--json")) {
    reports::Json document = reports::cases_document(records);
    for (std::size_t i = 0; memory && i < records.size(); ++i) {
      if (records[i].status == profilers::Status::kOk) {
        const BatchFit fit = largest_batch(records[i].config, memory_bytes);
        document["cases"][i]["largest_batch"] = {
            {"memory_bytes", memory_bytes}, {"batch", fit.batch}, {"needed_bytes", fit.needed_bytes}};
      }
    }
    context.out << reports::json_text(document, 1) << '\n';
    return 0;
  }
  for (const Record& record : records) {
    print_costs(record, context.out);
    if (memory && record.status == profilers::Status::kOk) {
      context.out << fit_sentence(largest_batch(record.config, memory_bytes), memory_bytes) << "\n\n";
    }
  }
  if (records.size() > 1) {
    context.out << reports::verdict_sentence(records) << '\n';
  }
  return 0;
}

} // namespace

Command cost_command() {
  Command out;
  out.name = "cost";
  out.summary = "count without running: ops, shapes, FLOPs, bytes, intensity, predicted bound and time";
  out.usage = "WORKLOAD... [CASE_ID...] [--json|--totals] [--hw NAME|FILE]";
  out.positional = "case id";
  out.options = joined({workload_options(),
                        selection_options(),
                        {{"--json", "", "", "print cases as JSON", OptionGroup::kOutput},
                         {"--totals", "", "", "a CSV line a case, no launches", OptionGroup::kOutput},
                         {"--memory", "", "SIZE", "say which batch fits, such as 80GB", OptionGroup::kOutput},
                         hardware_option()}});
  out.examples = {"cost --variant mha,gqa --seq-len 1k:16k:*2 --dim 4096 --heads 32 --causal",
                  "cost --layout sandwich --variant cga --grid 14x14 --dim 192 --heads 4 --json"};
  out.run = cost;
  return out;
}

} // namespace attnprof::cli
