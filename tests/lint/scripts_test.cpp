// scripts/lib/setup.sh on machines that are made up: a PATH that holds only what such a machine would have.
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/run_binary.hpp"
#include "tests/support/temp_dir.hpp"

#include <fstream>
#include <iterator>

using namespace attnprof::tests;
namespace fs = std::filesystem;

namespace {

const fs::path kScripts = source_dir() / "scripts";

/// A made-up machine: the tools that every system has, the commands a test adds, and header folders of its own.
class Machine {
 public:
  Machine() {
    for (const fs::path& folder : {commands_, tools_, headers_})
      fs::create_directories(folder);
    for (const char* tool : {"bash", "cat", "cksum", "cut", "dirname", "env", "head", "mkdir", "readlink", "rm", "sed",
                             "sort", "tail", "tr"})
      for (const char* folder : {"/bin", "/usr/bin"})
        if (const fs::path program = fs::path(folder) / tool; fs::exists(program) && !fs::exists(tools_ / tool))
          fs::create_symlink(program, tools_ / tool);
  }

  /// A command that notes its name and arguments in calls() and then runs `body`.
  void add_command(const std::string& name, const std::string& body) {
    // commands_ stands before tools_ in PATH and holds no links: writing here can never reach a program of this system.
    std::ofstream(commands_ / name) << "#!/bin/bash\nprintf '%s\\n' \"" << name << " $*\" >>\""
                                    << (folder_ / "calls").string() << "\"\n"
                                    << body << "\n";
    fs::permissions(commands_ / name, fs::perms::owner_all);
  }

  void add_header(const fs::path& name) {
    fs::create_directories((headers_ / name).parent_path());
    std::ofstream(headers_ / name) << "\n";
  }

  /// Adds every header that the build needs but `left_out`.
  void add_headers_except(const std::string& left_out) {
    for (const char* name : {"CLI/CLI.hpp", "fmt/core.h", "eigen3/Eigen/Core", "nlohmann/json.hpp",
                             "oneapi/dnnl/dnnl.hpp", "perfmon/pfmlib.h", "sqlite3.h", "simdjson.h", "catch2/catch.hpp"})
      if (name != left_out)
        add_header(name);
  }

  void add_build_tools() {
    for (const char* name : {"c++", "cmake", "ninja"})
      add_command(name, "exit 0");
  }

  /// Runs a bash script with setup.sh sourced.
  RunResult run(const std::string& script) const {
    return run_program("/bin/bash",
                       {"-c", "set -euo pipefail; source \"$0\"; build_dir=$1; " + script,
                        (kScripts / "lib/setup.sh").string(), folder_.path().string()},
                       options());
  }

  RunResult run_attnprof() const {
    return run_program("/bin/bash", {(kScripts / "attnprof").string(), "list"}, options());
  }

  std::string calls() const {
    std::ifstream stream(folder_ / "calls");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  RunOptions options() const {
    RunOptions result;
    result.environment = {{"PATH", commands_.string() + ":" + tools_.string()},
                          {"ATTNPROF_INCLUDE_DIRS", headers_.string()},
                          {"ATTNPROF_BUILD_DIR", (folder_ / "build").string()},
                          {"CXX", std::nullopt}};
    return result;
  }

  TempDir folder_;
  fs::path commands_ = folder_ / "commands";
  fs::path tools_ = folder_ / "tools";
  fs::path headers_ = folder_ / "include";
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("setup: only what is absent is missing", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("");
  CHECK(machine.run("missing_dependencies tool tests optional").out.empty());

  Machine without_fmt;
  without_fmt.add_build_tools();
  without_fmt.add_headers_except("fmt/core.h");
  const RunResult result = without_fmt.run("missing_dependencies tool tests optional | cut -d '|' -f 2");
  CHECK(result.err.empty());
  CHECK(result.out == "fmt\n");
}

TEST_CASE("setup: the tool alone does not ask for the test framework", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("catch2/catch.hpp");
  CHECK(machine.run("missing_dependencies tool").out.empty());
  CHECK(holds(machine.run("missing_dependencies tool tests").out, "Catch2"));
}

TEST_CASE("setup: a system without a known package manager gets the list and exit 2", "[lint][scripts]") {
  const Machine machine;
  const RunResult result = machine.run_attnprof();
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  for (const char* name :
       {"C++20 compiler", "CMake 3.22", "Ninja or make", "CLI11", "fmt", "Eigen 3", "nlohmann-json", "oneDNN"})
    CHECK(holds(result.err, std::string("- ") + name));
}

TEST_CASE("setup: without root and sudo nothing is run, the command is printed", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("CLI/CLI.hpp");
  machine.add_command("apt-get", "exit 0");
  machine.add_command("id", "echo 1000");
  const RunResult result = machine.run_attnprof();
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(holds(result.err, "- libcli11-dev: command line"));
  CHECK(holds(
      result.err,
      "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 libcli11-dev"));
  CHECK_FALSE(holds(machine.calls(), "apt-get"));
}

TEST_CASE("setup: root installs what is missing, and fetches package lists only when they do not know it",
          "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("oneapi/dnnl/dnnl.hpp");
  machine.add_command("id", "echo 0");
  machine.add_command("apt-get", "exit 0");
  SECTION("known") {
    machine.add_command("apt-cache", "exit 0");
    const RunResult result = machine.run("install_dependencies tool tests");
    CHECK(result.exit_code == 0);
    CHECK(result.out.empty());
    CHECK(holds(result.err, "libdnnl-dev: matrix products"));
    CHECK(holds(machine.calls(), "Acquire::Retries=3 libdnnl-dev\n"));
    CHECK_FALSE(holds(machine.calls(), "apt-get update"));
  }
  SECTION("not known") {
    machine.add_command("apt-cache", "exit 100");
    CHECK(machine.run("install_dependencies tool tests").exit_code == 0);
    const std::string calls = machine.calls();
    CHECK(holds(calls, "apt-get update"));
    CHECK(calls.find("apt-get update") < calls.find("apt-get install"));
  }
}

TEST_CASE("setup: others go through sudo", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("fmt/core.h");
  machine.add_command("id", "echo 1000");
  machine.add_command("sudo", "exit 0");
  SECTION("dnf") {
    machine.add_command("dnf", "exit 0");
    CHECK(machine.run("install_dependencies tool").exit_code == 0);
    CHECK(holds(machine.calls(), "sudo -n dnf install -y fmt-devel\n"));
  }
  SECTION("pacman") {
    machine.add_command("pacman", "exit 0");
    CHECK(machine.run("install_dependencies tool").exit_code == 0);
    CHECK(holds(machine.calls(), "sudo -n pacman -S --needed --noconfirm fmt\n"));
  }
}

TEST_CASE("setup: a failed install is exit 2 with the log and the command", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("fmt/core.h");
  machine.add_command("id", "echo 0");
  machine.add_command("zypper", "echo 'no such repository'; exit 4");
  const RunResult result = machine.run("install_dependencies tool");
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(holds(result.err, "no such repository"));
  CHECK(holds(result.err, "zypper --non-interactive install fmt-devel"));
  CHECK(holds(result.err, "install.log"));
}

TEST_CASE("setup: an optional package that cannot be had stops nothing", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  machine.add_headers_except("perfmon/pfmlib.h");
  machine.add_command("id", "echo 0");
  machine.add_command("pacman", "exit 1");
  const RunResult result = machine.run("install_dependencies tool; install_optional optional");
  CHECK(result.exit_code == 0);
  CHECK(holds(result.err, "going on without libpfm4"));
}

TEST_CASE("setup: an old CMake is refused by version", "[lint][scripts]") {
  Machine machine;
  machine.add_build_tools();
  SECTION("old") {
    machine.add_command("cmake", "echo 'cmake version 3.16.3'");
    const RunResult result = machine.run("check_tool_versions");
    CHECK(result.exit_code == 2);
    CHECK(holds(result.err, "cmake 3.16.3 is too old: 3.22"));
  }
  SECTION("new enough") {
    machine.add_command("cmake", "echo 'cmake version 3.22.1'");
    CHECK(machine.run("check_tool_versions").exit_code == 0);
  }
}

TEST_CASE("setup: compilers at work follow memory and cores", "[lint][scripts]") {
  Machine machine;
  machine.add_command("nproc", "echo 64");
  machine.add_command("sed", "echo 3500000"); // the reader of /proc/meminfo: MemAvailable in KiB
  CHECK(machine.run("build_jobs").out == "2\n");
  machine.add_command("nproc", "echo 1");
  CHECK(machine.run("build_jobs").out == "1\n");
}

TEST_CASE("setup: progress counts what ninja and make print, and keeps every line in the log", "[lint][scripts]") {
  const Machine machine;
  const RunResult result = machine.run("printf '%s\\n' '[0/2] Re-checking globbed directories...' '[1/4] Building A' "
                                       "'warning: x' '[2/4] Building B' '[ 80%] C' "
                                       "'[4/4] Linking' | show_progress 3>\"$build_dir/log\"; cat \"$build_dir/log\"");
  CHECK(result.exit_code == 0);
  CHECK(result.err ==
        "attnprof: building 20 %\nattnprof: building 40 %\nattnprof: building 80 %\nattnprof: building 100 %\n");
  CHECK(result.out ==
        "[0/2] Re-checking globbed directories...\n[1/4] Building A\nwarning: x\n[2/4] Building B\n[ 80%] C\n"
        "[4/4] Linking\n");
}

namespace {

/// A folder as gpu-check leaves it: one product of bf16, one copy beyond the cache, one attention timed on both
/// kernels.
class CheckFolder {
 public:
  explicit CheckFolder(double product_flops_per_s) {
    put("ceilings.json", R"({"compute": [{"unit": "tensor", "dtype": "bf16", "flops_per_s": 8e14}],
                             "bandwidth": [{"level": "L2", "bytes_per_s": 9e12, "capacity_bytes": 50000000},
                                           {"level": "DRAM", "bytes_per_s": 4e12}]})");
    const std::string head = "id,scope,op,shape,kernel_impl,flops,flops_per_s,bytes_per_s,working_set_bytes,"
                             "time_median_s,counted_flops_ratio,counted_bytes_ratio\n";
    const std::string own = "one,m/attention,attention,s,own attention mma 128x64 double,1e9,4e14,,,2e-3,1.1,0.9\n";
    put("attention/results.csv", "id,status,reason,dtype,math,device_level,max_relative_error\n"
                                 "one,ok,,bf16,f32,counters,1e-3\n");
    put("attention/kernels.csv", head + "one,m/p,matmul,m8192 n8192 k8192,cublaslt algo 1,1.1e12," +
                                     std::to_string(product_flops_per_s) + ",,,1e-3,1.0,1.0\n" +
                                     "one,m/c,copy,s,own copy x8,0,,3.6e12,4e8,1e-3,,1.0\n" + own);
    put("cudnn/kernels.csv", head + "one,m/attention,attention,s,\"cudnn sdpa, cuDNN 9.19.0, engine choice 0\",1e9,,,,"
                                    "1e-3,,\n");
  }
  RunResult ratios() const {
    return run_program("/usr/bin/env", {"python3", (kScripts / "lib/gpu_ratios.py").string(), folder_.path().string()});
  }
  void put(const fs::path& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

 private:
  TempDir folder_;
};

} // namespace

TEST_CASE("gpu-check: bars are ok, short or missing, and a short one is exit 1", "[lint][scripts]") {
  const RunResult good = CheckFolder(7e14).ratios();
  INFO(good.out << good.err);
  CHECK(good.exit_code == 0);
  CHECK(holds(good.out, "ok       products against cuBLASLt alone, 8192 cubed: lowest 0.88 of 1, bar 0.85"));
  CHECK(holds(good.out, "ok       memory-bound kernels beyond the caches against the copy: lowest 0.90 of 1"));
  CHECK(holds(good.out, "0.50  one")); // cuDNN took half of our time
  CHECK(holds(good.out, "bf16  1.0e-03  over 1 cases"));
  const RunResult slow = CheckFolder(4e14).ratios();
  CHECK(slow.exit_code == 1);
  CHECK(holds(slow.out, "short    products against cuBLASLt alone, 8192 cubed: lowest 0.50 of 1"));
  const CheckFolder wrong(7e14);
  wrong.put("variants/results.csv", "id,status,reason,dtype,math,device_level,max_relative_error\n"
                                    "two,incorrect,the output differs,f16,f32,,0.5\n");
  const RunResult incorrect = wrong.ratios();
  CHECK(incorrect.exit_code == 1);
  CHECK(holds(incorrect.out, "incorrect: two: the output differs"));
  const CheckFolder empty(7e14);
  empty.put("attention/kernels.csv", "id,scope,op\n");
  const RunResult missing = empty.ratios();
  CHECK(missing.exit_code == 0);
  CHECK(holds(missing.out, "missing  products against cuBLASLt alone"));
}

TEST_CASE("gpu-check: a folder of an earlier run and an unknown flag are refused", "[lint][scripts]") {
  const TempDir folder;
  RunOptions options;
  options.environment = {{"ATTNPROF", "/bin/true"}};
  const std::string script = (kScripts / "gpu-check").string();
  const RunResult again = run_program("/bin/bash", {script, folder.path().string()}, options);
  CHECK(again.exit_code == 2);
  CHECK(holds(again.err, "is there already"));
  CHECK(run_program("/bin/bash", {script, "--large"}, options).exit_code == 2);
  CHECK(holds(run_program("/bin/bash", {script, "--help"}, options).out, "scripts/gpu-check [--small] [FOLDER]"));
}
