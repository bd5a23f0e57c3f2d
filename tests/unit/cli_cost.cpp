#include "cli/app.hpp"
#include "cli/interrupt.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/allocations.hpp"
#include "tests/unit/cli_fakes.hpp"
#include "tests/unit/reports_csv_reader.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

using namespace attnprof;

namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& args) {
  cli::Seams seams;
  seams.files = std::make_shared<tests::FakeFolders>();
  seams.environment = [] { return profilers::Environment(); };
  seams.machine_path = [](const std::string&) { return std::nullopt; };
  seams.interrupt = std::make_shared<cli::Interrupt>();
  std::ostringstream out;
  std::ostringstream err;
  const int code = cli::run(args, out, err, seams);
  return {code, out.str(), err.str()};
}

std::vector<std::string> with(std::vector<std::string> args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

bool says(const std::string& field, const nlohmann::json& value) {
  if (value.is_number_float()) {
    return !field.empty() && std::stod(field) == value.get<double>();
  }
  return field == (value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump());
}

/// Allocations that each of `count` further cases takes.
double allocations_a_case(const std::vector<std::string>& args, const std::string& few, const std::string& many,
                          int count) {
  const auto of = [&](const std::string& lengths) {
    const std::int64_t before = tests::allocations;
    CHECK(run(with(args, {"--seq-len", lengths})).code == 0);
    return tests::allocations - before;
  };
  of(few); // what is made once a process
  const std::int64_t base = of(few);
  return static_cast<double>(of(many) - base) / count;
}

} // namespace

TEST_CASE("cost: --totals has a line a case with the totals of --json") {
  const std::vector<std::string> workloads[] = {
      {"cost", "--variant", "mha,gqa,cga,linear,window", "--grid", "4x4,5x6", "--dim", "48,64", "--heads", "4",
       "--plan", "eager,fused"},
      {"cost", "--layout", "standard,sandwich,skipat,twins", "--grid", "4x4", "--dim", "64", "--heads", "4", "--plan",
       "fused", "--dtype", "f32,bf16"},
      {"cost", "--variant", "mha", "--seq-len", "8,16", "--dim", "64,65", "--heads", "4,5", "--causal"},
      {"cost", "--model", "vit_tiny_patch16_224,gpt2"}};
  for (const std::vector<std::string>& args : workloads) {
    const Outcome totals = run(with(args, {"--totals"}));
    const Outcome whole = run(with(args, {"--json"}));
    INFO(totals.err << whole.err);
    REQUIRE(totals.code == 0);
    REQUIRE(whole.code == 0);
    const auto rows = tests::rows_by_name(totals.out);
    const nlohmann::json cases = nlohmann::json::parse(whole.out)["cases"];
    REQUIRE(rows.size() == cases.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const nlohmann::json& one = cases[i];
      INFO(one["id"]);
      for (const auto& [column, field] : rows[i]) {
        INFO(column);
        const bool outer = one.contains(column) && !one[column].is_object();
        const bool configured = one["config"].contains(column);
        const nlohmann::json& group = outer ? one : configured ? one["config"] : one["totals"];
        CHECK(says(field, group.is_null() || !group.contains(column) ? nlohmann::json() : group[column]));
      }
      CHECK(rows[i].contains("flops"));
      CHECK(rows[i].contains("peak_activation_bytes"));
    }
  }
}

TEST_CASE("cost: --totals refuses what it does not print, and an impossible case alone") {
  for (const auto& more : std::vector<std::vector<std::string>>{{"--json"}, {"--memory", "1GB"}}) {
    const Outcome outcome = run(with({"cost", "--variant", "mha", "--totals"}, more));
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("--totals") != std::string::npos);
  }
  const std::vector<std::string> large = {"cost",      "--variant",  "mha",   "--totals", "--batch", "1000000",
                                          "--seq-len", "4000000000", "--dim", "8192",     "--heads", "64"};
  const Outcome alone = run(large);
  CHECK(alone.code == 2);
  CHECK(alone.out.empty());
  CHECK(alone.err.find("64-bit") != std::string::npos);
  const Outcome among = run(with(large, {"--causal=true,false"}));
  CHECK(among.code == 0);
  const auto rows = tests::rows_by_name(among.out);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("status") == "invalid");
  CHECK(rows[0].at("reason").find("64-bit") != std::string::npos);
  CHECK(rows[0].at("flops").empty());
}

TEST_CASE("cost: a case of --totals takes a bounded number of allocations") {
#if defined(__SANITIZE_ADDRESS__)
  return;
#endif
  const std::vector<std::string> args = {"cost", "--variant", "mha", "--dim", "64", "--heads", "4", "--totals"};
  const double eager = allocations_a_case(with(args, {"--plan", "eager"}), "16:31:1", "16:47:1", 16);
  const double fused = allocations_a_case(with(args, {"--plan", "fused"}), "16:31:1", "16:47:1", 16);
  INFO("eager " << eager << ", fused " << fused);
  CHECK(eager <= 12);
  CHECK(fused <= 16);
}
