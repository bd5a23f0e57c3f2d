// Whether a case computes what it should, before anything is timed.
#include "cli/case_runner.hpp"
#include "operators/core/plan.hpp"
#include "operators/exec/tolerance.hpp"
#include "operators/exec/verify.hpp"
#include "operators/workload.hpp"

#include <fmt/format.h>

namespace attnprof::cli {

using operators::Graph;
using profilers::Record;
using profilers::Status;

/// The float64 results of a case, from its eager plan where the reference can compute that: both plans are one
/// function, and sweeps take them one after the other, so that the second is compared with what the first was.
const operators::TensorValues& CaseRunner::reference_of(const operators::Config& config, const Graph& launches) {
  operators::Config eager = config;
  eager.set("plan", std::string("eager"));
  eager.erase("threads");
  const bool shared = operators::is_within(eager, measuring_.check_limits);
  const std::string id = operators::case_id(shared ? eager : config);
  if (referenced_ != id) {
    const Graph graph = shared ? operators::build(eager) : launches;
    reference_ = operators::run_reference(graph, operators::reference_inputs(graph, measuring_.seed));
    referenced_ = id;
  }
  return reference_;
}

void CaseRunner::verify(PreparedCase& prepared, operators::Executor& executor, const operators::ExecOptions& options) {
  Record& record = prepared.record;
  double error = 0;
  double tolerance = 0;
  if (operators::is_within(record.config, measuring_.check_limits)) {
    error = operators::error_against(*prepared.program, reference_of(record.config, prepared.launches));
    tolerance = operators::tolerance_of(prepared.launches, options.math);
    record.verified_by = "reference";
  } else {
    const std::optional<operators::Config> twin = operators::reduced_twin(record.config, measuring_.check_limits);
    const operators::Graph launches =
        twin ? operators::plan_launches(operators::build(*twin), twin->text("plan")) : operators::Graph();
    if (!twin || executor.unsupported(launches)) {
      record.warnings.emplace_back("the result was not checked: the case is too large for the float64 reference, and "
                                   "no smaller case of its kind can stand in for it");
      return;
    }
    error = operators::error_against(*executor.prepare(launches, options), reference_of(*twin, launches));
    tolerance = operators::tolerance_of(launches, options.math);
    record.verified_by = "twin " + operators::case_id(*twin);
  }
  record.max_relative_error = error;
  if (!(error <= tolerance)) {
    record.status = Status::kIncorrect;
    record.reason =
        fmt::format("the output{} differs from the float64 reference by {:.2g} (relative), more than the {:.2g} that "
                    "{} allows; it was not measured",
                    record.verified_by == "reference" ? "" : " of its smaller " + record.verified_by, error, tolerance,
                    operators::product_dtype_of(record.config));
  }
}

} // namespace attnprof::cli
