#include "bench/app.hpp"

#include "bench/report.hpp"
#include "operators/core/error.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"
#include "profilers/environment.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <regex>

namespace attnprof::bench {
namespace {

struct Settings {
  std::string filter, isa, json_path, markdown_path;
  double slice_s = 0.3;
  bool small = false;
  bool list = false;
  bool cpu_time = false;
  std::string count;
};

/// Time that the calling thread ran: what one thread took on a machine that others use as well.
class ThreadClock final : public profilers::Clock {
 public:
  std::int64_t now_ns() override {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  [[nodiscard]] std::string name() const override { return "thread_cpu_time"; }
};

struct Machine {
  std::string text;
  std::string isa;
  bool avx512 = false;
  bool bf16 = false;
  int cores = 1;
};

Machine describe_machine(const std::string& wanted_isa) {
  const profilers::Environment environment = profilers::read_environment({"/", profilers::allowed_cpus()});
  const std::vector<std::string> isas = operators::cpu::runnable_isas();
  Machine out;
  out.isa = operators::cpu::select_kernels(wanted_isa).isa;
  out.avx512 = std::find(isas.begin(), isas.end(), "avx512") != isas.end();
#ifdef ATTNPROF_HAS_X86_ISAS
  out.bf16 = out.isa == "avx512" && __builtin_cpu_supports("avx512bf16") != 0;
#endif
  out.cores = environment.cores;
  std::string caches;
  for (const profilers::Cache& cache : environment.caches) {
    caches += fmt::format(", L{} {} KiB", cache.level, cache.size_bytes / 1024);
  }
  out.text = fmt::format("{}, {} cores{}, {}, {}", environment.cpu_model.value_or("unknown processor"),
                         environment.cores, caches, out.isa, environment.compiler);
  return out;
}

/// The least of the timed lengths from which FLASH takes less time than FLASH-Quad; absent where none was timed.
std::optional<Remark> flash_remark(const std::vector<Row>& rows) {
  bool any = false;
  for (const Row& row : rows) {
    any = any || row.name.starts_with("FLASH over");
    if (row.name.starts_with("FLASH over") && row.time_over_reference && *row.time_over_reference < 1.0) {
      const std::string tokens = row.name.substr(row.name.find(", n") + 3);
      return Remark{fmt::format("FLASH beats FLASH-Quad from {} tokens on", tokens), std::stod(tokens)};
    }
  }
  return any ? std::optional(Remark{"FLASH does not beat FLASH-Quad at any length that was timed", std::nullopt})
             : std::nullopt;
}

void parse(const std::vector<std::string>& arguments, Settings& settings) {
  CLI::App app("times the kernels against the machine's limits and against other libraries", "attnprof_bench");
  app.add_option("--filter", settings.filter, "cases or bars whose name matches this regular expression");
  app.add_option("--isa", settings.isa, "instruction set of the kernels: baseline, avx2 or avx512");
  app.add_option("--json", settings.json_path, "write the result as JSON to this file");
  app.add_option("--markdown", settings.markdown_path, "write the table of bars as Markdown to this file");
  app.add_option("--slice", settings.slice_s, "seconds of each case");
  app.add_flag("--small", settings.small, "tiny shapes, for a test of the benchmark itself");
  app.add_flag("--cpu-time", settings.cpu_time,
               "one thread only, in processor time: for a machine that does other things too");
  app.add_option("--count", settings.count, "run one case by our own kernels, for a tool that counts instructions");
  app.add_flag("--list", settings.list, "print the cases and their bars, and run nothing");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  app.parse(reversed);
}

bool matches(const Case& which, const std::regex& filter) {
  return std::regex_search(which.name, filter) ||
         std::any_of(which.claims.begin(), which.claims.end(),
                     [&](const Claim& claim) { return std::regex_search(claim.bar, filter); });
}

std::vector<Case> chosen_cases(const Settings& settings, const Machine& machine) {
  CaseRequest request;
  request.isa = machine.isa;
  request.narrower_isa = machine.isa == "avx512" ? "avx2" : "";
  request.bf16 = machine.bf16;
  request.threads = machine.cores > 1 && !settings.cpu_time ? std::vector<int>{1, 2} : std::vector<int>{1};
  request.small = settings.small;
  std::vector<Case> cases = make_cases(request);
  if (!settings.filter.empty()) {
    const std::regex filter(settings.filter);
    std::erase_if(cases, [&](const Case& which) { return !matches(which, filter); });
  }
  return cases;
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) {
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw operators::Error(operators::ErrorKind::kIo, fmt::format("{} cannot be written", path));
  }
}

/// Runs the named case once in counted_run, where a profiler can tell it from everything else.
int count_case(const std::string& name, const Machine& machine, std::ostream& out) {
  CaseRequest request;
  request.isa = machine.isa;
  request.threads = {1};
  for (Case& which : make_cases(request)) {
    if (which.name == name) {
      which.options.products = operators::Products::kOwn;
      const auto program = operators::make_cpu_executor()->prepare(which.launches, which.options);
      program->run();
      counted_run(*program);
      out << name << '\n';
      return 0;
    }
  }
  throw operators::Error(operators::ErrorKind::kUsage, fmt::format("no case is named '{}': --list prints them", name));
}

int run_chosen(const Settings& settings, std::ostream& out, std::ostream& err, Seams& seams) {
  const Machine machine = describe_machine(settings.isa);
  if (!settings.count.empty()) {
    return count_case(settings.count, machine, out);
  }
  const std::vector<Case> cases = chosen_cases(settings, machine);
  if (cases.empty()) {
    throw operators::Error(operators::ErrorKind::kUsage,
                           fmt::format("no case or bar matches '{}': --list prints them", settings.filter));
  }
  if (settings.list) {
    for (const Case& which : cases) {
      out << fmt::format("{} ({} threads)\n", which.name, which.options.threads);
    }
    return 0;
  }
  Result result;
  result.machine = machine.text;
  result.isa = machine.isa;
  out << machine.text << '\n';
  const std::vector<PeerLibrary> libraries = seams.libraries(machine.isa);
  for (const PeerLibrary& library : libraries) {
    result.libraries.push_back({library.name, library.version, library.absent});
    out << (library.absent ? fmt::format("{}: absent, {}\n", library.name, *library.absent)
                           : fmt::format("{} {}\n", library.name, library.version));
  }
  const SamplerOptions options = settings.small ? SamplerOptions{1e-4, 0.0, 3, 3}
                                                : SamplerOptions{2e-3, settings.slice_s, 5, 31, 2.5 * settings.slice_s};
  ThreadClock thread_clock;
  Runner runner(machine.isa, libraries, options, settings.cpu_time ? thread_clock : *seams.clock, seams.host);
  const std::int64_t begin_ns = seams.clock->now_ns();
  for (const Case& which : cases) {
    if (std::optional<Row> row = runner.run(which)) {
      out << row_text(*row) << std::flush;
      result.rows.push_back(std::move(*row));
    }
  }
  if (!settings.small &&
      (settings.filter.empty() || std::regex_search("attention-memory", std::regex(settings.filter)))) {
    result.counted.push_back(fused_memory_growth(machine.isa));
  }
  result.issue_rate = runner.best_issue_rate();
  result.wall_s = profilers::seconds_between(begin_ns, seams.clock->now_ns());
  if (std::optional<Remark> remark = flash_remark(result.rows)) {
    result.remarks.push_back(std::move(*remark));
  }
  const std::vector<BarRow> bars = bar_rows(result, machine.avx512, machine.bf16);
  out << '\n' << bars_text(bars);
  for (const Remark& remark : result.remarks) {
    out << remark.text << '\n';
  }
  out << core_text(result) << fmt::format("{} cases in {:.0f} s\n", result.rows.size(), result.wall_s);
  write_file(settings.json_path, to_json(result, bars).dump(1) + '\n');
  write_file(settings.markdown_path, bars_markdown(result, bars));
  static_cast<void>(err);
  return 0;
}

} // namespace

[[gnu::noinline]] void counted_run(operators::Program& program) {
  program.run();
}

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, Seams& seams) {
  Settings settings;
  try {
    parse(arguments, settings);
    return run_chosen(settings, out, err, seams);
  } catch (const CLI::CallForHelp&) {
    out << "attnprof_bench [--filter REGEX] [--isa NAME] [--json FILE] [--markdown FILE] [--slice SECONDS] [--list] "
           "[--cpu-time] [--count CASE]\n";
    return 0;
  } catch (const CLI::ParseError& error) {
    err << "attnprof_bench: " << error.what() << '\n';
  } catch (const std::regex_error& error) {
    err << fmt::format("attnprof_bench: --filter {}: {}\n", settings.filter, error.what());
  } catch (const operators::Error& error) {
    err << "attnprof_bench: " << error.what() << '\n';
  }
  return 2;
}

} // namespace attnprof::bench
