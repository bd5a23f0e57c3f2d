#include "operators/kernels/cpu/kernel_table.hpp"
#include "tests/support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

using namespace attnprof::operators;

namespace {

using MapFn = void (*)(const float*, float*, std::int64_t);

/// Distance to the exact value in units of the last place of the exact value, at least of the smallest normal number.
double ulps(float got, double exact) {
  if (std::isnan(exact) || std::isinf(exact)) {
    return std::isnan(exact) == std::isnan(got) && (std::isnan(exact) || static_cast<double>(got) == exact) ? 0.0
                                                                                                            : INFINITY;
  }
  const auto as_float = static_cast<float>(exact);
  if (std::isinf(as_float)) {
    return std::isinf(got) || got == std::numeric_limits<float>::max() ? 0.0 : INFINITY;
  }
  const int exponent = std::max(std::ilogb(exact == 0.0 ? std::numeric_limits<double>::min() : exact), -126);
  return std::abs(static_cast<double>(got) - exact) / std::ldexp(1.0, exponent - 23);
}

/// Every `step`-th float of the given sign, from zero over subnormals to infinity.
std::vector<float> floats_in_steps(std::uint32_t step, bool negative) {
  std::vector<float> out;
  for (std::uint32_t bits = 0; bits <= 0x7f800000U; bits += step) {
    out.push_back(std::bit_cast<float>(bits | (negative ? 0x80000000U : 0U)));
  }
  out.push_back(negative ? -INFINITY : INFINITY);
  return out;
}

struct Worst {
  double ulps = 0.0;
  float at = 0.0F;
};
Worst worst_over(MapFn fn, bool negative, const std::function<double(double)>& exact) {
  // A prime step meets all trailing bit patterns; 70 million floats would take minutes, 700 thousand a moment.
  const std::vector<float> x = floats_in_steps(3001, negative);
  std::vector<float> y(x.size());
  fn(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], exact(static_cast<double>(x[i])));
    if (error > worst.ulps) {
      worst = {error, x[i]};
    }
  }
  return worst;
}

void check_both_signs(MapFn fn, double allowed, const std::function<double(double)>& exact) {
  for (const bool negative : {false, true}) {
    const Worst worst = worst_over(fn, negative, exact);
    INFO("worst " << worst.ulps << " ulp at " << worst.at);
    CHECK(worst.ulps <= allowed);
  }
}

float at(MapFn fn, float x) {
  float y = 0.0F;
  fn(&x, &y, 1);
  return y;
}

} // namespace

TEST_CASE("cpu math: exp within 2 ulp over the whole range, subnormal results included", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).exp;
    check_both_signs(fn, 2.0, [](double x) { return std::exp(x); });
    CHECK(at(fn, -INFINITY) == 0.0F);
    CHECK(at(fn, INFINITY) == INFINITY);
    CHECK(std::isnan(at(fn, NAN)));
    CHECK(at(fn, 0.0F) == 1.0F);
    CHECK(at(fn, -100.0F) > 0.0F); // subnormal
    CHECK(at(fn, 1e-40F) == 1.0F);
  }
}

TEST_CASE("cpu math: exp of softmax within 2 ulp, 0 where the result is below 0.7 of the smallest normal number",
          "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).exp_nonpositive;
    // From there on the power of two by which the result is scaled is 0.
    const Worst worst = worst_over(fn, true, [](double x) { return x < -126.5 * std::log(2.0) ? 0.0 : std::exp(x); });
    INFO("worst " << worst.ulps << " ulp at " << worst.at);
    CHECK(worst.ulps <= 2.0);
    CHECK(at(fn, -INFINITY) == 0.0F);
    CHECK(at(fn, -88.0F) == 0.0F);
    CHECK(std::isnan(at(fn, NAN)));
    CHECK(at(fn, 0.0F) == 1.0F);
  }
}

TEST_CASE("cpu math: powers of two of the fused softmax within 3 ulp, subnormal results flushed to zero", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).exp2_nonpositive;
    // Between -126.5 and -126 the result is subnormal, below 0.
    const Worst worst = worst_over(fn, true, [](double x) { return x < -126.5 ? 0.0 : std::exp2(x); });
    INFO("worst " << worst.ulps << " ulp at " << worst.at);
    CHECK(worst.ulps <= 3.0);
    CHECK(at(fn, -INFINITY) == 0.0F);
    CHECK(at(fn, -127.0F) == 0.0F);
    CHECK(std::isnan(at(fn, NAN)));
    CHECK(at(fn, 0.0F) == 1.0F);
    CHECK(at(fn, -126.0F) == 0x1p-126F);
  }
}

TEST_CASE("cpu math: erf within 6 ulp over the whole range", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).erf;
    check_both_signs(fn, 6.0, [](double x) { return std::erf(x); });
    CHECK(at(fn, -INFINITY) == -1.0F);
    CHECK(at(fn, INFINITY) == 1.0F);
    CHECK(std::isnan(at(fn, NAN)));
    CHECK(at(fn, 0.0F) == 0.0F);
  }
}

TEST_CASE("cpu math: sigmoid within 3 ulp over the whole range, subnormal results flushed to zero", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).sigmoid;
    check_both_signs(fn, 3.0, [](double x) { return x < -87.33654 ? 0.0 : 1.0 / (1.0 + std::exp(-x)); });
    CHECK(at(fn, -INFINITY) == 0.0F);
    CHECK(at(fn, INFINITY) == 1.0F);
    CHECK(std::isnan(at(fn, NAN)));
  }
}

TEST_CASE("cpu math: tanh within 4 ulp over the whole range", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).tanh;
    check_both_signs(fn, 4.0, [](double x) { return std::tanh(x); });
    CHECK(at(fn, -INFINITY) == -1.0F);
    CHECK(at(fn, INFINITY) == 1.0F);
    CHECK(std::isnan(at(fn, NAN)));
  }
}

TEST_CASE("cpu math: silu within 4 ulp over the whole range, 0 below -88.4", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).silu;
    check_both_signs(fn, 4.0, [](double x) { return x < -88.3762 ? 0.0 : x / (1.0 + std::exp(-x)); });
    CHECK(at(fn, -INFINITY) == 0.0F);
    CHECK(at(fn, INFINITY) == INFINITY);
    CHECK(std::isnan(at(fn, NAN)));
  }
}

TEST_CASE("cpu math: gelu within 4 units in the last place of its argument", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    INFO(isa);
    const MapFn fn = cpu::select_kernels(isa).gelu;
    for (const bool negative : {false, true}) {
      std::vector<float> x = floats_in_steps(3001, negative);
      x.pop_back(); // gelu(-inf) is -inf times 0
      std::vector<float> y(x.size());
      fn(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
      double worst = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto v = static_cast<double>(x[i]);
        const double exact = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
        const int exponent = std::max(x[i] == 0.0F ? -126 : std::ilogb(v), -126);
        worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / std::ldexp(1.0, exponent - 23));
      }
      CHECK(worst <= 4.0);
    }
    CHECK(at(fn, INFINITY) == INFINITY);
    CHECK(at(fn, -100.0F) == 0.0F);
    CHECK(std::isnan(at(fn, NAN)));
  }
}

TEST_CASE("cpu math: arrays of every length, no element past the end written", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    for (std::int64_t n = 0; n < 100; ++n) {
      const std::vector<float> x(static_cast<std::size_t>(n), 1.0F);
      std::vector<float> y(static_cast<std::size_t>(n) + 20, -5.0F);
      cpu::select_kernels(isa).exp(x.data(), y.data(), n);
      for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK(y[i] == (i < x.size() ? Catch::Approx(2.7182818F) : Catch::Approx(-5.0F)));
      }
    }
  }
}
