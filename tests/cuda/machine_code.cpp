// What nvcc made of the kernels, read from this build's objects: scripts/gpu-sass counts instructions and needs neither
// a GPU nor a disassembler.
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/run_binary.hpp"

#include <algorithm>

using namespace attnprof::tests;

TEST_CASE("machine code: no kernel uses local memory, and each has the instructions that it is written for", "[gpu]") {
  std::vector<std::string> arguments{(source_dir() / "scripts/gpu-sass").string(), "--check"};
  for (const auto& entry : std::filesystem::directory_iterator(ATTNPROF_CUDA_OBJECTS)) {
    if (entry.path().string().ends_with(".cu.o")) {
      arguments.push_back(entry.path().string());
    }
  }
  CHECK(arguments.size() >= 7);
  const RunResult run = run_program("/usr/bin/env", arguments);
  if (run.exit_code == 3 || run.exit_code == 127) { // compressed, as in a release, or no Python
    WARN("skipped: " << run.err);
    return;
  }
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  const auto rows = std::count(run.out.begin(), run.out.end(), '`') / 2;
  CHECK(rows >= 35); // all were found
  CHECK_THAT(run.out, Catch::Contains("tensor_attention_kernel"));
}
