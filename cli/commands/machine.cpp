#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "cli/machine_store.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/machine_json.hpp"
#include "reports/format.hpp"
#include "reports/hardware.hpp"
#include "reports/record_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Machine;
using reports::Align;

std::string host_lines(const profilers::Environment& environment) {
  std::string out =
      fmt::format("{}\n{} usable cores on {} physical ones", environment.cpu_model.value_or("unknown processor"),
                  environment.cores, environment.physical_cores);
  if (environment.quota_cores) {
    out += fmt::format(", quota {}", reports::plain(environment.quota_cores));
  }
  for (const profilers::Cache& cache : environment.caches) {
    out += fmt::format(", L{} {} x{}", cache.level, reports::capacity(cache.size_bytes), cache.instances);
  }
  return out + "\n";
}

/// Slowest tenth and fastest of the repetitions; a data sheet has none.
std::string spread_text(double low, double ceiling, double high, std::string_view unit) {
  if (!(low < high)) {
    return std::string(reports::kAbsentText);
  }
  return fmt::format("{} .. {}{}", reports::si(low, unit), reports::si(high, unit),
                     profilers::is_wide(low, ceiling) ? " !" : "");
}

std::string bandwidth_table(const Machine& machine) {
  std::vector<std::vector<std::string>> rows;
  for (const profilers::BandwidthCeiling& one : machine.bandwidth) {
    rows.push_back(
        {one.level, one.kind, fmt::format("{}", one.threads), reports::si(one.bytes_per_s, "B/s"),
         spread_text(one.low, one.bytes_per_s, one.high, "B/s"),
         one.working_set_bytes > 0 ? reports::capacity(one.working_set_bytes) : std::string(reports::kAbsentText)});
  }
  return "bandwidth\n" + reports::text_table({{"level", Align::kLeft},
                                              {"traffic", Align::kLeft},
                                              {"threads"},
                                              {"ceiling"},
                                              {"spread"},
                                              {"working set"}},
                                             rows);
}

std::string compute_table(const Machine& machine) {
  std::vector<std::vector<std::string>> rows;
  for (const profilers::ComputeCeiling& one : machine.compute) {
    const char* unit = one.unit == "exp" ? "exp/s" : "FLOP/s";
    rows.push_back({one.unit, one.dtype, one.isa, fmt::format("{}", one.threads), reports::si(one.per_s, unit),
                    spread_text(one.low, one.per_s, one.high, unit)});
  }
  return "arithmetic\n" + reports::text_table({{"unit", Align::kLeft},
                                               {"dtype", Align::kLeft},
                                               {"isa", Align::kLeft},
                                               {"threads"},
                                               {"ceiling"},
                                               {"spread"}},
                                              rows);
}

/// FLOPs per byte from which arithmetic bounds rather than memory, for the widest case that was measured.
std::string ridge_line(const Machine& machine) {
  const int threads = machine.environment.cores;
  const auto peak = profilers::compute_ceiling(machine, "f32", "fma", threads);
  // Weights are read; stores that pass the caches by would promise more than any kernel of that kind reaches.
  auto memory = profilers::bandwidth_ceiling(machine, "DRAM", threads, "read");
  memory = memory ? memory : profilers::bandwidth_ceiling(machine, "DRAM", threads);
  if (!peak || !memory) {
    return {};
  }
  return fmt::format("ridge: {} FLOP/B (f32, {} threads, DRAM{}); a kernel with less is bound by memory\n",
                     reports::plain(peak->per_s / memory->per_s), threads, memory->by == "read" ? " read" : "");
}

std::string launch_line(const Machine& machine) {
  std::vector<std::string> parts;
  for (const profilers::LaunchOverhead& one : machine.launch_overheads) {
    parts.push_back(
        fmt::format("{} on {} thread{}", reports::seconds(one.time_s), one.threads, one.threads == 1 ? "" : "s"));
  }
  return parts.empty() ? "" : fmt::format("empty launch: {}\n", fmt::join(parts, ", "));
}

/// Which ceilings these are: of what machine, from when, in which file.
std::string origin_lines(const Machine& machine, const Arguments& arguments, Context& context) {
  const auto kept = context.seams.machine_path(machine.fingerprint);
  const std::string file = arguments.text("--hw") ? *arguments.text("--hw") : kept ? kept->string() : "none";
  const std::string absent(reports::kAbsentText);
  return fmt::format("measured on: {}\nfingerprint: {}\n{}: {}\n", machine.measured_on.value_or(absent),
                     machine.fingerprint.empty() ? absent : machine.fingerprint,
                     arguments.given("--hw") ? "from" : "file", file);
}

/// What the rooflines of this machine are worth where others ran beside the measurement.
void warn_of_spread(const Machine& machine, std::ostream& err) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> wide;
  for (const profilers::ComputeCeiling& one : machine.compute) {
    if (profilers::is_wide(one.low, one.per_s)) {
      wide.push_back(fmt::format("{} {} {} x{}", one.unit, one.dtype, one.isa, one.threads));
    }
  }
  for (const profilers::BandwidthCeiling& one : machine.bandwidth) {
    if (profilers::is_wide(one.low, one.bytes_per_s)) {
      wide.push_back(fmt::format("{} {} x{}", one.level, one.kind, one.threads));
    }
  }
  if (wide.empty()) {
    return;
  }
  const std::size_t count = wide.size();
  wide.resize(std::min(count, kNamed));
  err << fmt::format(
      "attnprof: {} of {} ceilings (marked !) were more than {:.0f} % slower in a tenth of their repetitions ({}{}): "
      "the "
      "machine was busy or its clock moved; `attnprof machine measure` on a quiet machine finds better ones\n",
      count, machine.compute.size() + machine.bandwidth.size(), 100.0 * profilers::kWideSpread, fmt::join(wide, ", "),
      count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

void print_machine(const Machine& machine, std::ostream& out) {
  out << '\n' << compute_table(machine) << '\n' << bandwidth_table(machine) << '\n';
  out << launch_line(machine) << ridge_line(machine);
  for (const profilers::AbsentCeiling& absent : machine.absent) {
    out << fmt::format("not measured: {} {} {}: {}\n", absent.unit, absent.dtype, absent.isa, absent.reason);
  }
  for (const std::string& note : machine.notes) {
    out << note << '\n';
  }
}

/// Measured, sustained by CUPTI and stated by the data sheet beside each other, and below where each comes from.
std::string ceilings_text(const operators::gpu::DeviceFacts& device, const operators::gpu::DeviceCeilings& ceilings) {
  const std::string absent(reports::kAbsentText);
  std::vector<std::vector<std::string>> rows;
  std::string sources;
  for (const reports::CeilingRow& row : reports::ceiling_rows(device, ceilings)) {
    const std::string unit = row.what.find(' ') == std::string::npos ? "B/s" : "FLOP/s";
    const auto cell = [&](const auto& one, std::string_view who) {
      if (one) {
        sources += fmt::format("{}, {}: {}\n", row.what, who, one->source);
      }
      return one ? reports::si(one->per_s, unit) : absent;
    };
    const std::string measured = cell(row.measured, "measured");
    const std::string sustained = cell(row.sustained, "CUPTI");
    rows.push_back({row.what, measured, sustained, cell(row.sheet, "data sheet")});
  }
  if (!ceilings.sustained_refusal.empty()) {
    sources += fmt::format("no peaks of CUPTI: {}\n", ceilings.sustained_refusal);
  }
  return fmt::format(
      "{}\n{}\n{}", device.name,
      reports::text_table({{"ceiling", Align::kLeft}, {"measured"}, {"CUPTI sustained"}, {"data sheet, dense"}}, rows),
      sources);
}

/// The ceilings of a GPU, which are a file for --hw and not part of this machine's.
int measure_device(const std::string& device, const std::optional<std::string>& file, bool as_json, Context& context) {
  const auto executor = context.seams.make_executor(device);
  if (executor->device() == nullptr) {
    throw Error(ErrorKind::kUsage, fmt::format("--device {} is this machine's processor, which is measured without the "
                                               "flag; give cuda",
                                               device));
  }
  operators::gpu::Device& gpu = *executor->device();
  const operators::gpu::DeviceCeilings ceilings = gpu.measure_ceilings();
  const std::string text = reports::device_json(gpu.facts(), ceilings);
  if (file) {
    context.seams.files->write(*file, text);
  }
  if (as_json) {
    context.out << text;
    return kExitOk;
  }
  context.out << ceilings_text(gpu.facts(), ceilings)
              << (file ? fmt::format("written to {}; hold cases against them with --hw {}\n", *file, *file)
                       : std::string("-o FILE keeps the measured ones for --hw FILE\n"));
  return kExitOk;
}

int machine(const Arguments& arguments, Context& context) {
  const std::vector<std::string>& words = arguments.positionals();
  const std::string action = words.empty() ? "show" : words.front();
  if (words.size() > 1 || (action != "show" && action != "measure")) {
    const std::string near = operators::nearest_name(action, {"show", "measure"});
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is nothing that `attnprof machine` does{}; it takes show or measure",
                            fmt::join(words, " "), near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
  }
  if (arguments.given("--fresh") && action != "measure") {
    throw Error(ErrorKind::kUsage, "--fresh measures again: use `attnprof machine measure --fresh`");
  }
  const std::optional<std::string> file = arguments.text("--output");
  if (file) {
    // A path that cannot be written is worth knowing before ten seconds of measuring.
    static_cast<void>(context.seams.files->open_lines(*file, context.seams.files->read(*file).value_or("").size()));
  }
  if (const auto device = arguments.text("--device")) {
    if (action != "measure") {
      throw Error(ErrorKind::kUsage,
                  "--device needs `machine measure`: ceilings of a GPU are not kept, -o FILE writes them");
    }
    return measure_device(*device, file, arguments.given("--json"), context);
  }
  const std::optional<Machine> found = action == "measure"
                                           ? std::optional(measure_and_cache(context, arguments.given("--fresh")))
                                           : known_machine(arguments, context);
  if (!found) {
    return kExitOk; // known_machine has said how to get them
  }
  if (file) {
    write_machine(*context.seams.files, *found, *file);
  }
  if (arguments.given("--json")) {
    context.out << profilers::machine_to_json(*found).dump(2) << '\n';
  } else {
    context.out << host_lines(found->environment) << origin_lines(*found, arguments, context);
    print_machine(*found, context.out);
    warn_of_spread(*found, context.err);
  }
  return kExitOk;
}

} // namespace

Command machine_command() {
  Command out;
  out.name = "machine";
  out.summary = "ceilings of this machine: bandwidth of each memory level, peak of each data type";
  out.details = "They are measured once, kept for this machine and build, and drawn as the roofs of every report.\n";
  out.usage = "[show|measure] [-o FILE]";
  out.positional = "show or measure";
  out.options = {{"--output", "-o", "FILE", "write them as JSON", OptionGroup::kOutput},
                 {"--json", "", "", "print them as JSON", OptionGroup::kOutput},
                 {"--fresh", "", "", "forget earlier measurements, of which the best is kept", OptionGroup::kOutput},
                 {"--device", "", "DEVICE", "of a GPU: cuda", OptionGroup::kOutput},
                 hardware_option()};
  out.examples = {"machine measure", "machine show --hw h100-sxm"};
  out.run = machine;
  return out;
}

} // namespace attnprof::cli
