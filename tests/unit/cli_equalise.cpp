#include "cli/equalise.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace attnprof;
using cli::Equal;
using operators::Config;

namespace {

Config config_of(const std::string& id) {
  return operators::resolve(operators::parse_case_id(id));
}

const char* const kSandwich = "layout=sandwich:variant=mha:grid=7x7:dim=64:heads=4:depth=1";
const char* const kStandard = "layout=standard:variant=mha:grid=7x7:dim=64:heads=4:depth=2";

} // namespace

TEST_CASE("equalise: the solver finds the nearest whole size, whatever the sizes in between") {
  const Config start = config_of(kStandard);
  const cli::Quantity cubes = [](const Config& config) -> std::optional<double> {
    return std::pow(static_cast<double>(config.integer("dim")), 3);
  };
  const auto exact = cli::equalise(start, "dim", std::pow(148.0, 3), cubes);
  REQUIRE(exact);
  CHECK(exact->after == 148);
  CHECK(exact->before == 64);
  CHECK(exact->mismatch() == Catch::Approx(0.0).margin(1e-12));
  const auto between = cli::equalise(start, "dim", std::pow(149.0, 3), cubes); // heads 4: only multiples of 4
  REQUIRE(between);
  CHECK(between->after == 148);
  CHECK(between->mismatch() == Catch::Approx(std::pow(148.0 / 149.0, 3) - 1));
  // Sizes that cannot exist are passed over.
  const cli::Quantity gaps = [](const Config& config) -> std::optional<double> {
    const std::int64_t dim = config.integer("dim");
    return dim % 32 == 0 ? std::optional(static_cast<double>(dim)) : std::nullopt;
  };
  CHECK(cli::equalise(start, "dim", 100.0, gaps)->after == 96);
  CHECK(cli::equalise(start, "dim", 1.0, gaps)->after == 32); // the least there is
  CHECK_FALSE(cli::equalise(start, "dim", 1.0, [](const Config&) { return std::optional<double>(); }));
}

TEST_CASE("equalise: what follows from the width follows it") {
  const Config wider = cli::with_knob(config_of(kStandard), "dim", 128);
  CHECK(wider.integer("dim") == 128);
  CHECK(wider.integer("head_dim") == 32);
  CHECK(wider == config_of("layout=standard:variant=mha:grid=7x7:dim=128:heads=4:depth=2"));
  const Config fixed = cli::with_knob(config_of(std::string(kStandard) + ":head_dim=20"), "dim", 128);
  CHECK(fixed.integer("head_dim") == 20); // asked for
  CHECK(cli::knob_step(wider, "dim") == 4);
  CHECK(cli::knob_step(wider, "depth") == 1);
}

TEST_CASE("equalise: sub-layers, FLOPs and parameters of real layouts") {
  CHECK(cli::sublayers_of(config_of(kStandard)) == 4.0); // two blocks of mixer and FFN
  CHECK(cli::sublayers_of(config_of(kSandwich)) == 5.0); // a mixer between two FFNs on each side
  const Config sandwich = config_of(kSandwich);
  const auto depth = cli::equalise(config_of(kStandard), "depth", *cli::sublayers_of(sandwich), cli::sublayers_of);
  REQUIRE(depth);
  CHECK(std::abs(depth->mismatch()) <= 0.2); // 4 or 6 beside 5
  const double flops = *cli::flops_of(sandwich);
  const auto width = cli::equalise(config_of(kStandard), "dim", flops, cli::flops_of);
  REQUIRE(width);
  CHECK(std::abs(width->mismatch()) < 0.1);
  CHECK(*cli::flops_of(width->config) == width->achieved);
  // No other width comes nearer.
  for (const std::int64_t step : {-4, 4}) {
    const Config near = cli::with_knob(config_of(kStandard), "dim", width->after + step);
    CHECK(std::abs(std::log(*cli::flops_of(near) / flops)) >= std::abs(std::log(width->achieved / flops)));
  }
  const auto params = cli::equalise(config_of(kStandard), "dim", *cli::params_of(sandwich), cli::params_of);
  REQUIRE(params);
  CHECK(std::abs(params->mismatch()) < 0.1);
}

TEST_CASE("equalise: a measured quantity is approached in few steps") {
  int asked = 0;
  const cli::Quantity time = [&](const Config& config) -> std::optional<double> {
    ++asked;
    return 0.1 + 0.3 * static_cast<double>(config.integer("depth")); // a constant part, so no plain power law
  };
  const auto found = cli::equalise_measured(config_of(kStandard), "depth", 6.1, time);
  REQUIRE(found);
  CHECK(found->after == 20);
  CHECK(asked <= 5);
}

TEST_CASE("equalise: unknown quantities are refused with the nearest") {
  CHECK(cli::equal_from("params") == Equal::kParams);
  CHECK_THROWS_WITH(cli::equal_from("flop"), Catch::Matchers::Contains("did you mean 'flops'"));
}
