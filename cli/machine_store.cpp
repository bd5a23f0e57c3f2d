#include "cli/machine_store.hpp"

#include "operators/core/error.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/machine_json.hpp"
#include "profilers/machine_measure.hpp"
#include "reports/hardware.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

/// Before a sweep; `machine measure` takes its time.
constexpr double kQuickBudgetS = 5;
constexpr double kThoroughBudgetS = profilers::MachineOptions().budget_s;

void print(const std::vector<std::string>& warnings, std::ostream& err) {
  for (const std::string& warning : warnings) {
    err << "attnprof: " << warning << '\n';
  }
}

std::optional<profilers::Machine> cached_machine(Context& context) {
  const std::string fingerprint = profilers::fingerprint(context.seams.environment());
  const std::optional<std::filesystem::path> path = context.seams.machine_path(fingerprint);
  if (!path) {
    return std::nullopt;
  }
  std::vector<std::string> warnings;
  std::optional<profilers::Machine> machine = profilers::load_machine(*path, fingerprint, warnings);
  print(warnings, context.err);
  return machine;
}

profilers::Machine measure_and_keep(Context& context, double budget_s, bool fresh) {
  profilers::Machine machine = context.seams.measure_machine(budget_s);
  if (const auto path = context.seams.machine_path(machine.fingerprint)) {
    std::vector<std::string> ignored; // what cannot be read is measured anew
    if (const auto earlier = profilers::load_machine(*path, machine.fingerprint, ignored); earlier && !fresh) {
      machine = profilers::best_of(std::move(machine), *earlier);
    }
    try {
      profilers::save_machine(machine, *path);
    } catch (const operators::Error& error) {
      print({fmt::format("{}; the ceilings are measured again next time", error.what())}, context.err);
    }
  }
  return machine;
}

} // namespace

OptionSpec hardware_option() {
  OptionSpec out;
  out.name = "--hw";
  out.value = "NAME|FILE";
  out.help = "ceilings (of this machine)";
  out.group = OptionGroup::kOutput;
  return out;
}

profilers::Machine machine_from(reports::Files& files, const std::string& name_or_path) {
  const auto& known = reports::known_hardware();
  const bool built_in =
      std::any_of(known.begin(), known.end(), [&](const auto& one) { return one.name == name_or_path; });
  if (!built_in && !files.is_directory(name_or_path)) {
    if (const auto text = files.read(name_or_path)) {
      const reports::Json json = reports::parse_json(*text, name_or_path);
      if (json.contains("fingerprint")) {
        return profilers::machine_from_json(json);
      }
    }
  }
  return reports::find_hardware(files, name_or_path).machine;
}

std::optional<profilers::Machine> known_machine(const Arguments& arguments, Context& context) {
  if (const auto file = arguments.text("--hw")) {
    return machine_from(*context.seams.files, *file);
  }
  std::optional<profilers::Machine> machine = cached_machine(context);
  if (!machine) {
    context.err << "attnprof: the ceilings of this machine are not known yet, so bounds and times are not predicted; "
                   "`attnprof machine measure` finds them, --hw names others\n";
  }
  return machine;
}

profilers::Machine measured_machine(const Arguments& arguments, Context& context) {
  if (const auto file = arguments.text("--hw")) {
    return machine_from(*context.seams.files, *file);
  }
  if (auto machine = cached_machine(context)) {
    return std::move(*machine);
  }
  context.err << fmt::format("attnprof: measuring the ceilings of this machine once, about {} s\n", kQuickBudgetS)
              << std::flush;
  return measure_and_keep(context, kQuickBudgetS, false);
}

profilers::Machine measure_and_cache(Context& context, bool fresh) {
  context.err << fmt::format("attnprof: measuring the ceilings of this machine, about {} s\n", kThoroughBudgetS)
              << std::flush;
  return measure_and_keep(context, kThoroughBudgetS, fresh);
}

void write_machine(reports::Files& files, const profilers::Machine& machine, const std::filesystem::path& file) {
  files.write(file, profilers::machine_to_json(machine).dump(2) + "\n");
}

} // namespace attnprof::cli
