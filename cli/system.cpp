// The seams of a real process.
#include "cli/context.hpp"
#include "operators/core/error.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/machine_measure.hpp"
#include "profilers/system_probe_runner.hpp"

#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

std::unique_ptr<operators::Executor> make_executor(std::string_view device) {
  if (device == "cpu") {
    return operators::make_cpu_executor();
  }
  throw Error(
      ErrorKind::kUnavailable,
      fmt::format(
          "--device {} is not possible: this build has no {} plugin, so no driver or device was looked for; use "
          "--device cpu",
          device, device));
}

std::shared_ptr<profilers::Counters> counters_of(const profilers::Environment& environment) {
  const profilers::CounterHost host = profilers::read_counter_host("/", environment);
  return std::make_shared<profilers::Counters>(std::make_shared<profilers::LinuxPerfSystem>(), host,
                                               profilers::check_kernels(host.line_bytes));
}

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace

Seams system_seams() {
  Seams out;
  out.make_executor = make_executor;
  out.clock = std::make_shared<profilers::SteadyClock>();
  out.host = std::make_shared<profilers::LinuxHostProbe>();
  out.files = std::make_shared<reports::DiskFiles>();
  // Before any thread is bound: a program that is alive leaves this thread one processor.
  out.environment = [allowed = profilers::allowed_cpus()] { return profilers::read_environment({"/", allowed}); };
  out.machine_path = [](const std::string& fingerprint) { return profilers::default_machine_path(fingerprint); };
  out.measure_machine = [environment = out.environment, clock = out.clock](double budget_s) {
    const profilers::Environment here = environment();
    profilers::SystemProbeRunner runner(here);
    profilers::Machine machine = profilers::measure_machine(here, runner, *clock, {budget_s});
    machine.measured_on = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    return machine;
  };
  out.doctor_host = profilers::system_doctor_host;
  out.counters = [environment = out.environment,
                  made = std::shared_ptr<profilers::Counters>()]() mutable -> profilers::Counters& {
    if (made == nullptr)
      made = counters_of(environment());
    return *made;
  };
  out.plot = reports::gnuplot_runner();
  out.interrupt = std::make_shared<Interrupt>();
  out.run_self = [interrupt = out.interrupt](const std::vector<std::string>& args, double timeout_s) {
    return run_child("/proc/self/exe", args, timeout_s, *interrupt);
  };
  out.variable = profilers::environment_variable;
  out.err_is_terminal = ::isatty(STDERR_FILENO) != 0 && profilers::environment_variable("TERM") != "dumb";
  out.terminal_columns = terminal_columns();
  return out;
}

} // namespace attnprof::cli
