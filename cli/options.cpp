#include "cli/options.hpp"

#include "operators/core/error.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <sstream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using operators::ParamKind;
using operators::ParamSpec;

std::string help_of(const ParamSpec& spec) {
  if (spec.kind != ParamKind::kChoice) {
    return spec.help;
  }
  const auto named = [&](const std::string& choice) { return spec.help.find(choice) != std::string::npos; };
  if (std::all_of(spec.choices.begin(), spec.choices.end(), named)) {
    return spec.help;
  }
  return fmt::format("{}{}{}", spec.help, spec.help.empty() ? "" : ": ", fmt::join(spec.choices, "|"));
}

OptionSpec option(OptionGroup group, std::string name, std::string short_name, std::string value, std::string help) {
  OptionSpec out;
  out.name = std::move(name);
  out.short_name = std::move(short_name);
  out.value = std::move(value);
  out.help = std::move(help);
  out.group = group;
  return out;
}

} // namespace

std::vector<OptionSpec> workload_options() {
  std::vector<OptionSpec> out;
  for (const ParamSpec& spec : operators::all_params()) {
    out.push_back(option(OptionGroup::kWorkload, spec.flag(), "", "VALUES", help_of(spec)));
    out.back().repeats = true;
    out.back().value_optional = spec.kind == ParamKind::kFlag;
    const auto& shared = operators::shared_params();
    out.back().brief =
        std::none_of(shared.begin(), shared.end(), [&](const ParamSpec& other) { return other.name == spec.name; });
  }
  return out;
}

std::vector<OptionSpec> selection_options() {
  return {option(OptionGroup::kSelection, "--where", "", "COND", "such as \"kv_heads<=heads && dim%heads==0\""),
          option(OptionGroup::kSelection, "--filter", "-k", "REGEX", "searched in the case id"),
          option(OptionGroup::kSelection, "--config", "", "FILE", "TOML, these flags as keys")};
}

std::vector<OptionSpec> measuring_options() {
  constexpr OptionGroup kGroup = OptionGroup::kMeasuring;
  return {option(kGroup, "--warmup", "-w", "N", "runs before (until steady)"),
          option(kGroup, "--repetitions", "-r", "N", "samples (as noise demands)"),
          option(kGroup, "--min-time", "", "TIME", "least timed (0.2)"),
          option(kGroup, "--max-noise", "", "RATIO", "stop at this (2%)"),
          option(kGroup, "--timeout", "", "TIME", "most per case (5)"),
          option(kGroup, "--cache", "", "POLICY", "warm|cold|cold-weights|cold-kv"),
          option(kGroup, "--counters", "", "USE", "auto|off|required|valgrind"),
          option(kGroup, "--seed", "", "N", "of inputs and order (1)")};
}

std::vector<OptionSpec> gate_options() {
  constexpr OptionGroup kGroup = OptionGroup::kGate;
  return {option(kGroup, "--threshold", "", "RATIO", "tolerated change (5%)"),
          option(kGroup, "--metric", "", "COLUMNS", "compared (time_median_s)"),
          option(kGroup, "--gate", "", "KIND", "times|counts (CI: counts)"),
          option(kGroup, "--across-machines", "", "", "compare roof_fraction"),
          option(kGroup, "--ci", "", "", "print ::error lines"),
          option(kGroup, "--fail-on", "", "LIST", "regress, missing, fail (these), inconclusive, implausible")};
}

std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> groups) {
  std::vector<OptionSpec> out;
  for (const std::vector<OptionSpec>& group : groups) {
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

std::vector<Axis> axes_from(const Arguments& arguments) {
  std::vector<Axis> axes;
  for (const ParamSpec& spec : operators::all_params()) {
    // Given twice, or as an array in a configuration file: one list.
    const std::string separator(1, list_separator(spec));
    if (const std::vector<std::string>& texts = arguments.all(spec.flag()); !texts.empty()) {
      axes.push_back(parse_axis(spec, fmt::format("{}", fmt::join(texts, separator))));
    }
  }
  return axes;
}

PlanRequest plan_request(const Arguments& arguments) {
  PlanRequest request;
  request.axes = axes_from(arguments);
  for (const std::string& text : arguments.positionals()) {
    if (!operators::looks_like_case_id(text)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' is not a case id, which reads variant=mha:heads=4:...; workloads are "
                              "chosen by flags such as --variant {}",
                              text, text));
    }
    request.ids.push_back(operators::parse_case_id(text));
  }
  request.where = arguments.text("--where");
  request.filter = arguments.text("--filter");
  if (const auto shard = arguments.text("--shard")) {
    request.shard = parse_shard(*shard);
  }
  if (arguments.given("--shuffle")) {
    request.shuffle_seed = measuring_request(arguments).seed;
  }
  return request;
}

bool chooses_workload(const PlanRequest& request) {
  return !request.ids.empty() || std::any_of(request.axes.begin(), request.axes.end(),
                                             [](const Axis& axis) { return operators::names_workload(axis.name); });
}

std::string_view name_of(CounterUse use) {
  switch (use) {
  case CounterUse::kAuto: return "auto";
  case CounterUse::kValgrind: return "valgrind";
  case CounterUse::kOff: return "off";
  case CounterUse::kRequired: return "required";
  case CounterUse::kHere: return "here";
  }
  return "";
}

namespace {

CounterUse counter_use(const std::string& text) {
  for (const CounterUse use :
       {CounterUse::kAuto, CounterUse::kOff, CounterUse::kRequired, CounterUse::kValgrind, CounterUse::kHere}) {
    if (name_of(use) == text) {
      return use;
    }
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--counters '{}' is not valid: choose one of auto, off, required, valgrind, here", text));
}

} // namespace

MeasuringRequest measuring_request(const Arguments& arguments) {
  MeasuringRequest out;
  constexpr std::int64_t kMostRuns = 100'000;
  if (const auto text = arguments.text("--warmup")) {
    out.timing.warmup = parse_count("--warmup", *text, 0, kMostRuns);
  }
  if (const auto text = arguments.text("--repetitions")) {
    out.timing.repetitions = parse_count("--repetitions", *text, 1, kMostRuns);
  }
  if (const auto text = arguments.text("--min-time")) {
    out.timing.min_time_s = parse_duration_s("--min-time", *text);
  }
  if (const auto text = arguments.text("--max-noise")) {
    out.timing.max_noise = parse_ratio("--max-noise", *text);
  }
  if (const auto text = arguments.text("--timeout")) {
    out.timing.timeout_s = parse_duration_s("--timeout", *text);
  }
  if (const auto text = arguments.text("--cache")) {
    const auto policy = profilers::cache_policy_from(*text);
    if (!policy) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--cache '{}' is not valid: choose one of warm, cold, cold-weights, cold-kv", *text));
    }
    out.cache_policy = *policy;
  }
  if (const auto text = arguments.text("--counters")) {
    out.counters = counter_use(*text);
  }
  if (const auto text = arguments.text("--seed")) {
    out.seed = static_cast<std::uint64_t>(parse_count("--seed", *text, 0, std::numeric_limits<std::int64_t>::max()));
  }
  profilers::validate(out.timing);
  return out;
}

GateOptions gate_request(const Arguments& arguments, const std::optional<std::string>& shared_runner) {
  GateOptions out;
  if (const auto text = arguments.text("--threshold")) {
    out.threshold = parse_ratio("--threshold", *text);
  }
  if (const auto text = arguments.text("--fail-on")) {
    parse_fail_on(*text, out);
  }
  if (const auto text = arguments.text("--metric")) {
    std::istringstream names(*text);
    for (std::string name; std::getline(names, name, ',');) {
      out.metrics.push_back(name);
    }
  }
  out.across_machines = arguments.given("--across-machines");
  const bool all_counts = !out.metrics.empty() && std::all_of(out.metrics.begin(), out.metrics.end(), is_count);
  if (const auto text = arguments.text("--gate")) {
    if (*text != name_of(GateKind::kTimes) && *text != name_of(GateKind::kCounts)) {
      throw Error(ErrorKind::kUsage, fmt::format("--gate '{}' is not valid: choose one of times, counts", *text));
    }
    out.kind = *text == name_of(GateKind::kCounts) ? GateKind::kCounts : GateKind::kTimes;
  } else if (!out.threshold && (all_counts || (shared_runner && out.metrics.empty()))) {
    out.kind = GateKind::kCounts;
  }
  check(out);
  return out;
}

} // namespace attnprof::cli
