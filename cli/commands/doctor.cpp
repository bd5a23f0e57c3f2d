#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "operators/kernels/gpu/device.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/probes.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using profilers::Probe;
using profilers::ProbeVerdict;

Probe ceilings(Context& context, const profilers::Environment& here) {
  const auto path = context.seams.machine_path(profilers::fingerprint(here));
  std::vector<std::string> warnings;
  if (path && profilers::load_machine(*path, profilers::fingerprint(here), warnings)) {
    return {"ceilings", ProbeVerdict::kOk, "measured on this machine with this build", ""};
  }
  return {"ceilings", ProbeVerdict::kLimited,
          warnings.empty() ? "not measured yet on this machine with this build" : warnings.front(),
          "the first sweep measures them; `attnprof machine measure` takes more time for it"};
}

/// The device and how much of it can be seen.
Probe gpu_probe(const std::string& name, operators::gpu::Device& gpu) {
  const operators::gpu::DeviceFacts& facts = gpu.facts();
  const operators::gpu::LevelReport level = gpu.level();
  const bool whole = level.level == operators::gpu::Level::kCounters;
  return {name, whole ? ProbeVerdict::kOk : ProbeVerdict::kLimited,
          fmt::format("runs on {} ({}, compute {}.{}, {} multiprocessors, driver for CUDA {}.{}); measured by {}{}",
                      facts.name, facts.chip.empty() ? "unknown chip" : facts.chip, facts.compute_major,
                      facts.compute_minor, facts.multiprocessors, facts.driver_version / 1000,
                      facts.driver_version % 1000 / 10, operators::gpu::name_of(level.level),
                      whole ? std::string() : ", no more: " + level.reason),
          ""};
}

Probe device(Context& context, const char* name) {
  try {
    const auto executor = context.seams.make_executor(name);
    if (executor->device() != nullptr) {
      return gpu_probe(fmt::format("device {}", name), *executor->device());
    }
    return {fmt::format("device {}", name), ProbeVerdict::kOk, fmt::format("runs on {}", executor->name()), ""};
  } catch (const operators::Error& error) {
    return {fmt::format("device {}", name), ProbeVerdict::kAbsent, error.what(), ""};
  }
}

std::vector<Probe> counter_probes(Context& context) {
  std::vector<Probe> out;
  if (context.seams.counters) {
    for (const profilers::CounterVerdict& verdict : context.seams.counters().survey()) {
      const std::string what =
          profilers::is_software(verdict.quantity)
              ? "counted by the kernel, which needs no PMU for it"
              : fmt::format("opens as {} and agrees with loops of known work within 5 %", verdict.reason);
      out.push_back({fmt::format("counter {}", profilers::name_of(verdict.quantity)), verdict.verdict,
                     verdict.verdict == ProbeVerdict::kOk ? what : verdict.reason, verdict.fix});
    }
  }
  return out;
}

std::vector<Probe> all_probes(Context& context) {
  const profilers::Environment here = context.seams.environment();
  std::vector<Probe> out =
      profilers::run_probes(here, context.seams.doctor_host(), *context.seams.clock, *context.seams.host);
  const auto pmu = std::find_if(out.begin(), out.end(), [](const Probe& one) { return one.name == "PMU counters"; });
  const std::vector<Probe> counters = counter_probes(context);
  out.insert(pmu == out.end() ? pmu : pmu + 1, counters.begin(), counters.end());
  out.push_back(device(context, "cpu"));
  out.push_back(device(context, "cuda"));
  out.push_back(ceilings(context, here));
  return out;
}

int doctor(const Arguments& arguments, Context& context) {
  const std::vector<Probe> probes = all_probes(context);
  if (arguments.given("--json")) {
    reports::Json document = reports::Json::array();
    for (const Probe& probe : probes) {
      document.push_back({{"name", probe.name},
                          {"verdict", profilers::name_of(probe.verdict)},
                          {"reason", probe.reason},
                          {"fix", probe.fix.empty() ? reports::Json() : reports::Json(probe.fix)}});
    }
    context.out << reports::json_text(document, 1) << '\n';
    return kExitOk;
  }
  std::size_t width = 0;
  for (const Probe& probe : probes) {
    width = std::max(width, probe.name.size());
  }
  for (const Probe& probe : probes) {
    context.out << fmt::format("{:7} {:{}}  {}\n", profilers::name_of(probe.verdict), probe.name, width, probe.reason);
    if (!probe.fix.empty()) {
      context.out << fmt::format("{:{}}  -> {}\n", "", 8 + width, probe.fix);
    }
  }
  return kExitOk;
}

} // namespace

Command doctor_command() {
  Command out;
  out.name = "doctor";
  out.summary = "what works on this host and why not: counters, GPU, clocks, steal time, threads";
  out.usage = "[--json]";
  out.options = {{"--json", "", "", "print the findings as JSON", OptionGroup::kOutput}};
  out.examples = {"doctor", "doctor --json"};
  out.run = doctor;
  return out;
}

} // namespace attnprof::cli
