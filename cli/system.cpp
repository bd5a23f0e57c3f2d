// The seams of a real process.
#include "cli/context.hpp"
#include "operators/core/error.hpp"
#include "operators/exec/gpu_executor.hpp"
#include "operators/exec/gpu_plugin.hpp"
#include "profilers/gpu/recording_device.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/machine_load.hpp"
#include "profilers/machine_measure.hpp"
#include "profilers/system_files.hpp"
#include "profilers/system_probe_runner.hpp"

#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

/// The executors of this process. All programs of a GPU share one context, which is opened when first asked for.
class Executors {
 public:
  std::unique_ptr<operators::Executor> make(std::string_view device) {
    if (device == "cpu") {
      return operators::make_cpu_executor();
    }
    if (device != "cuda") {
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("--device {} is not possible: this program knows cpu and cuda", device));
    }
    if (gpu_ == nullptr) {
      gpu_ = operators::gpu::open_device(operators::gpu::system_plugin_host());
      if (const auto recording = profilers::environment_variable("ATTNPROF_GPU_RECORD")) {
        gpu_ = profilers::record_device(std::move(gpu_), *recording);
      }
    }
    return operators::make_gpu_executor(gpu_);
  }

 private:
  std::shared_ptr<operators::gpu::Device> gpu_;
};

std::shared_ptr<profilers::Counters> counters_of(const profilers::Environment& environment) {
  const profilers::CounterHost host = profilers::read_counter_host("/", environment);
  return std::make_shared<profilers::Counters>(std::make_shared<profilers::LinuxPerfSystem>(), host,
                                               profilers::check_kernels(host.line_bytes));
}

/// Absent from this process's search path: empty.
std::filesystem::path program_path(const std::string& name) {
  std::istringstream folders(profilers::environment_variable("PATH").value_or("/usr/bin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) {
      return folder + "/" + name;
    }
  }
  return {};
}

/// A new folder for the files of one simulation; it goes with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attnprof-valgrind-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorKind::kIo,
                  fmt::format("cannot create a folder like {}: set TMPDIR to one that can be written", pattern));
    }
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

profilers::Simulation read_simulation(const std::filesystem::path& out_file, std::int64_t line_bytes) {
  profilers::Simulation out;
  for (std::size_t launch = 1;; ++launch) {
    const auto text = profilers::read_text(fmt::format("{}.{}", out_file.string(), launch));
    if (!text) {
      break;
    }
    const auto counts = profilers::parse_callgrind(*text, line_bytes);
    if (!counts) {
      out.fault = fmt::format("launch {} has no counts in the output of valgrind", launch - 1);
      return out;
    }
    out.launches.push_back(*counts);
  }
  if (out.launches.empty()) {
    out.fault = "it saw no launch; was this program stripped of its symbols?";
  }
  return out;
}

profilers::Simulation simulate(const std::filesystem::path& valgrind, const std::string& case_id, std::uint64_t seed,
                               const profilers::SimulatedCaches& caches, double timeout_s, const Interrupt& interrupt) {
  const ScratchFolder folder;
  const std::filesystem::path out_file = folder.path() / "launch";
  std::vector<std::string> args = profilers::valgrind_arguments(caches, out_file.string());
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return {{}, "this program cannot find its own file: " + error.message()};
  }
  for (const std::string& arg :
       {self.string(), std::string("run"), case_id, std::string("--replay=1"), fmt::format("--seed={}", seed)}) {
    args.push_back(arg);
  }
  const ChildResult child = run_child(valgrind, args, timeout_s, interrupt);
  if (child.timed_out) {
    return {
        {},
        fmt::format("the simulated run was stopped after {:.0f} s; raise --timeout or use smaller sizes", timeout_s)};
  }
  if (child.exit_code != 0) {
    return {{},
            fmt::format("the simulated run ended with exit code {}; `valgrind attnprof run {} --replay=1` says why",
                        child.exit_code, case_id)};
  }
  return read_simulation(out_file, caches.last.line_bytes);
}

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace

Seams system_seams() {
  Seams out;
  out.make_executor = [executors = std::make_shared<Executors>()](std::string_view device) {
    return executors->make(device);
  };
  out.clock = std::make_shared<profilers::SteadyClock>();
  out.host = std::make_shared<profilers::LinuxHostProbe>();
  out.files = std::make_shared<reports::DiskFiles>();
  // Before any thread is bound: a program that is alive leaves this thread one processor.
  out.environment = [allowed = profilers::allowed_cpus()] { return profilers::read_environment({"/", allowed}); };
  out.machine_path = [](const std::string& fingerprint) { return profilers::default_machine_path(fingerprint); };
  out.measure_machine = [environment = out.environment, clock = out.clock](double budget_s) {
    const profilers::Environment here = environment();
    profilers::SystemProbeRunner runner(here);
    const profilers::LoadReading before = profilers::read_load("/", *clock);
    profilers::Machine machine = profilers::measure_machine(here, runner, *clock, {budget_s});
    if (const auto note = profilers::note_of_load(before, profilers::read_load("/", *clock), here.cores)) {
      machine.notes.push_back(*note);
    }
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
  out.energy = std::make_shared<profilers::EnergyMeter>("/", out.environment().hypervisor);
  out.plot = reports::gnuplot_runner();
  out.interrupt = std::make_shared<Interrupt>();
  out.run_self = [interrupt = out.interrupt](const std::vector<std::string>& args, double timeout_s) {
    return run_child("/proc/self/exe", args, timeout_s, *interrupt);
  };
  if (const std::filesystem::path valgrind = program_path("valgrind"); !valgrind.empty()) {
    out.simulate = [valgrind, interrupt = out.interrupt](const std::string& case_id, std::uint64_t seed,
                                                         const profilers::SimulatedCaches& caches, double timeout_s) {
      return simulate(valgrind, case_id, seed, caches, timeout_s, *interrupt);
    };
  }
  out.variable = profilers::environment_variable;
  out.err_is_terminal = ::isatty(STDERR_FILENO) != 0 && profilers::environment_variable("TERM") != "dumb";
  out.terminal_columns = terminal_columns();
  return out;
}

} // namespace attnprof::cli
