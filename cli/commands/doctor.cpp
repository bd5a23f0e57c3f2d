#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "profilers/machine_file.hpp"
#include "reports/format.hpp"
#include "reports/record_json.hpp"

#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

/// One thing that measuring depends on.
struct Finding {
  std::string subject;
  bool works = true;
  std::string detail; ///< what is there, or why not and what helps
};

std::string yes_no(const std::optional<bool>& value) {
  return value ? (*value ? "yes" : "no") : std::string(reports::kAbsentText);
}

Finding cores(const profilers::Environment& here) {
  std::string detail = fmt::format("{}: {} threads at once, on {} cores", here.cpu_model.value_or("unknown processor"),
                                   here.cores, here.physical_cores);
  if (here.quota_cores) {
    detail += fmt::format(", CPU quota {}", reports::plain(here.quota_cores));
  }
  return {"threads", true,
          detail + fmt::format("; SMT {}, virtual machine {}", yes_no(here.smt), yes_no(here.hypervisor))};
}

Finding clocks(const profilers::Environment& here) {
  const bool steady = here.governor == "performance";
  std::string detail = fmt::format("governor {}, turbo {}", here.governor.value_or("-"), yes_no(here.turbo));
  if (!steady) {
    detail += here.governor ? "; times vary less with the governor performance"
                            : "; the system does not tell, so each sample measures the clock itself";
  }
  return {"cpu clock", steady, detail};
}

Finding timer(Context& context) {
  const profilers::TimerQuality quality = profilers::probe_timer(*context.seams.clock);
  return {"timer", quality.resolution_s.has_value(),
          fmt::format("{}: step {}, a read costs {}", context.seams.clock->name(),
                      reports::seconds(quality.resolution_s), reports::seconds(quality.overhead_s))};
}

Finding steal(Context& context) {
  const bool told = context.seams.host->read().steal_s.has_value();
  return {"steal time", told,
          told ? "the hypervisor's time is recorded with each sample" : "not reported by this system (/proc/stat)"};
}

Finding memory(const profilers::Environment& here) {
  return {"memory", here.memory_available_bytes.has_value(),
          here.memory_available_bytes ? fmt::format("{} free for this process; larger cases are skipped",
                                                    reports::capacity(*here.memory_available_bytes))
                                      : "free memory is unknown, so cases that do not fit are not skipped"};
}

Finding build(const profilers::Environment& here) {
  return {"build", !here.assertions,
          here.assertions ? fmt::format("{} with assertions: times are those of a debug build", here.build_type)
                          : fmt::format("{} {} by {}", here.version, here.build_type, here.compiler)};
}

Finding ceilings(Context& context, const profilers::Environment& here) {
  const auto path = context.seams.machine_path(profilers::fingerprint(here));
  std::vector<std::string> warnings;
  const bool known = path && profilers::load_machine(*path, profilers::fingerprint(here), warnings);
  return {"ceilings", known,
          known ? "measured on this machine with this build"
                : "not measured yet; the first sweep does, or `attnprof machine measure`"};
}

Finding device(Context& context, const char* name) {
  try {
    return {std::string("device ") + name, true, context.seams.make_executor(name)->name()};
  } catch (const operators::Error& error) {
    return {std::string("device ") + name, false, error.what()};
  }
}

int doctor(const Arguments& arguments, Context& context) {
  const profilers::Environment here = context.seams.environment();
  const std::vector<Finding> findings = {cores(here),
                                         clocks(here),
                                         timer(context),
                                         steal(context),
                                         memory(here),
                                         build(here),
                                         ceilings(context, here),
                                         device(context, "cpu"),
                                         device(context, "cuda")};
  if (arguments.given("--json")) {
    reports::Json document = reports::Json::array();
    for (const Finding& finding : findings) {
      document.push_back({{"name", finding.subject}, {"works", finding.works}, {"detail", finding.detail}});
    }
    context.out << reports::json_text(document, 1) << '\n';
    return kExitOk;
  }
  for (const Finding& finding : findings) {
    context.out << fmt::format("{} {:12} {}\n", finding.works ? "ok" : "--", finding.subject, finding.detail);
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
