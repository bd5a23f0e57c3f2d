// Every primitive on the emulated GPU kernels against the float64 reference, op by op, in each dtype: the source that
// nvcc compiles for the device.
#include "operators/core/builder.hpp"
#include "operators/exec/gpu_executor.hpp"
#include "operators/exec/reference.hpp"
#include "operators/kernels/gpu/plan.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace attnprof::operators;
using attnprof::tests::emulation::EmulatedDevice;

namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::array kDTypes = {DType::kF32, DType::kBf16, DType::kF16};

/// Half a unit in the last place of the storage, and the rounding of f32 sums.
double tolerance(DType dtype) {
  return dtype == DType::kF32 ? 6e-6 : dtype == DType::kBf16 ? 4.5e-3 : 6e-4;
}

double distance(double value, double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference))) {
    return 0.0;
  }
  const double out = std::abs(value - reference) / std::max(1.0, std::abs(reference));
  return std::isnan(out) ? INFINITY : out;
}

std::shared_ptr<EmulatedDevice> emulated() {
  return std::make_shared<EmulatedDevice>();
}

double worst_error(const Graph& graph, const std::shared_ptr<EmulatedDevice>& device) {
  const auto executor = make_gpu_executor(device);
  REQUIRE_FALSE(executor->unsupported(graph));
  const auto program = executor->prepare(graph, {1, "", kSeed});
  program->run();
  double worst = 0.0;
  for (const auto& [id, values] : run_reference(graph, reference_inputs(graph, kSeed))) {
    const std::vector<float> got = program->read(id);
    REQUIRE(got.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, distance(static_cast<double>(got[i]), values[i]));
    }
  }
  return worst;
}

/// `build` adds ops to the builder and returns what to compare.
template <class Build>
void check(const std::string& what, Build&& build, double slack = 1.0) {
  for (const DType dtype : kDTypes) {
    GraphBuilder builder(dtype);
    builder.mark_output(build(builder), "out");
    INFO(what << " " << name_of(dtype));
    CHECK(worst_error(builder.take(), emulated()) <= slack * tolerance(dtype));
  }
}

} // namespace

TEST_CASE("gpu softmax: widths of a warp, of a block and beyond shared memory, dense and strided", "[gpu]") {
  for (const std::int64_t width : {1, 2, 7, 31, 32, 33, 196, 512, 1024, 1025, 2048, 11271, 11272}) {
    check("softmax " + std::to_string(width), [&](GraphBuilder& builder) {
      return builder.softmax("s", builder.input("x", {2, 3, width}));
    });
  }
  check("strided softmax", [](GraphBuilder& builder) {
    return builder.softmax("s", builder.input("x", {3, 40, 5}).transpose(1, 2));
  });
}

TEST_CASE("gpu softmax: a row of -inf gives zeros and a row with NaN gives NaN", "[gpu]") {
  GraphBuilder builder(DType::kF32);
  const View x = builder.input("x", {3, 19});
  const View y = builder.softmax("s", x);
  builder.mark_output(y, "out");
  const auto program = make_gpu_executor(emulated())->prepare(builder.graph(), {});
  std::vector<float> values(3 * 19, -INFINITY);
  values[19 + 4] = 3.0F;
  values[2 * 19 + 18] = NAN;
  program->write(x.tensor, values);
  program->run();
  const std::vector<float> got = program->read(y.tensor);
  for (std::size_t i = 0; i < 19; ++i) {
    CHECK(got[i] == 0.0F);
    CHECK(got[19 + i] == (i == 4 ? 1.0F : 0.0F));
    CHECK(std::isnan(got[2 * 19 + i]));
  }
}

TEST_CASE("gpu layernorm and rmsnorm", "[gpu]") {
  for (const std::int64_t width : {1, 3, 32, 64, 192, 1000, 1024, 1200, 11280}) {
    for (const bool rms : {false, true}) {
      check(
          "norm " + std::to_string(width),
          [&](GraphBuilder& builder) {
            const View x = builder.input("x", {5, width});
            const View gamma = builder.weight("gamma", {width});
            // eps well above the variance of a row of one, so that rounding is not magnified.
            return rms ? builder.rmsnorm("n", x, gamma, 1e-2)
                       : builder.layernorm("n", x, gamma, builder.weight("beta", {width}), 1e-2);
          },
          2.0);
    }
  }
}

TEST_CASE("gpu element-wise steps: each of them, in one launch and in chains, with broadcast operands", "[gpu]") {
  for (int fn = 0; fn <= static_cast<int>(StepFn::kGeluTanh); ++fn) {
    for (const std::int64_t width : {5, 16}) {
      check(
          std::string(step_traits(static_cast<StepFn>(fn)).name),
          [&](GraphBuilder& builder) {
            const View x = builder.input("x", {3, 4, width});
            Step step;
            step.fn = static_cast<StepFn>(fn);
            step.value = 0.7;
            if (step_traits(step.fn).takes_operand) {
              View operand = builder.input("o", {4, width});
              if (step.fn == StepFn::kDivide) { // away from zero
                operand = builder.activation("e", operand, StepFn::kExp);
              }
              step.operand = operand.broadcast(0, 3);
            }
            step.mask = is_mask(step.fn) ? Mask{true, 3} : Mask{};
            return builder.pointwise("p", x, step);
          },
          1.5);
    }
  }
  for (const DType dtype : kDTypes) { // heads of a projection, a bias for all of them, in one launch
    GraphBuilder builder(dtype);
    const View x = builder.input("x", {2, 6, 3 * 8}).split(2, 3, 8).transpose(1, 2);
    const View bias = builder.input("bias", {8}).broadcast(0, 6).broadcast(0, 3).broadcast(0, 2);
    const View y = builder.temporary({2, 3, 6, 8});
    builder.mark_output(y, "out");
    Graph graph = builder.take();
    const Steps chain = {{StepFn::kScale, 1.5, {}, {}}, {StepFn::kAdd, 0.0, bias, {}}, {StepFn::kSilu, 0.0, {}, {}}};
    graph.ops.push_back({"chain", Pointwise{x, y, chain}});
    INFO(name_of(dtype));
    CHECK(worst_error(graph, emulated()) <= tolerance(dtype));
  }
}

TEST_CASE("gpu masks agree with the definition for every shape of a causal window", "[gpu]") {
  for (const Mask mask : {Mask{true, 0}, Mask{true, 3}, Mask{false, 4}}) {
    for (const auto& [queries, keys] : {std::pair{5, 5}, std::pair{3, 8}, std::pair{8, 3}}) {
      check("mask", [&, q = queries, k = keys](GraphBuilder& builder) {
        Step step;
        step.fn = StepFn::kMaskFill;
        step.mask = mask;
        return builder.softmax("s", builder.pointwise("m", builder.input("x", {2, q, k}), step));
      });
    }
  }
}

TEST_CASE("gpu copies: dense, head split and merge, transposed, into a cache", "[gpu]") {
  check("copy", [](GraphBuilder& builder) { return builder.layout_copy("c", builder.input("x", {3, 5, 7})); });
  check("head split", [](GraphBuilder& builder) {
    return builder.layout_copy("c", builder.input("x", {2, 9, 3 * 16}).split(2, 3, 16).transpose(1, 2));
  });
  for (const auto& [rows, columns] : {std::pair{40, 70}, std::pair{32, 32}, std::pair{3, 100}}) {
    check("transposed", [&, r = rows, c = columns](GraphBuilder& builder) {
      return builder.layout_copy("c", builder.input("x", {2, c, r}).transpose(1, 2));
    });
  }
  for (const DType dtype : kDTypes) { // appending keys to a cache
    GraphBuilder builder(dtype);
    const View cache = builder.cache("keys", {1, 2, 12, 8}, 9);
    builder.copy_into("append", builder.input("new", {1, 3, 2, 8}).transpose(1, 2), cache.slice(2, 9, 3));
    CHECK(worst_error(builder.take(), emulated()) == 0.0);
  }
}

TEST_CASE("gpu rope: halves turn against each other, heads read and written where they lie", "[gpu]") {
  for (const std::int64_t width : {2, 6, 16, 64}) {
    check("rope", [&](GraphBuilder& builder) {
      const View x = builder.input("x", {2, 9, 3 * width}).split(2, 3, width).transpose(1, 2);
      return builder.rope("r", x, builder.rope_table(9, width, 5));
    });
  }
}

TEST_CASE("gpu gather, reduce, prefix sum and convolution along channels", "[gpu]") {
  check("gather", [](GraphBuilder& builder) { // the roll, pad and crop of windows
    const View index = builder.constant("index", {5}, {3, -1, 0, 3, 2});
    return builder.gather("g", builder.input("x", {2, 3, 4, 7}), index);
  });
  for (const auto kind : {Reduce::Kind::kSum, Reduce::Kind::kMean, Reduce::Kind::kMax}) {
    for (const std::int64_t columns : {1, 33, 70}) {
      check("reduce", [&](GraphBuilder& builder) {
        const View x = builder.input("x", {2, 19, columns});
        return builder.reduce("r", builder.scale("s", x, 0.1), kind);
      });
    }
  }
  check(
      "prefix sum",
      [](GraphBuilder& builder) {
        return builder.cumsum("c", builder.input("x", {2, 3, 5, 6}));
      },
      2);
  check("channel conv", [](GraphBuilder& builder) {
    return builder.channel_conv1d("e", builder.input("x", {2, 13}), builder.weight("w", {5}));
  });
}

TEST_CASE("gpu convolutions and pooling, padded, strided and grouped", "[gpu]") {
  for (const auto& [channels, kernel, stride] : {std::tuple{40, 3, 1}, std::tuple{7, 5, 2}, std::tuple{64, 7, 1}}) {
    check("depthwise", [&, c = channels, k = kernel, s = stride](GraphBuilder& builder) {
      return builder.depthwise_conv2d("d", builder.input("x", {2, 9, 11, c}), builder.weight("w", {c, k, k}),
                                      builder.weight("b", {c}), s, k / 2);
    });
  }
  check("pool", [](GraphBuilder& builder) { return builder.pool("p", builder.input("x", {2, 7, 6, 9}), 3, 1, 1); });
  for (const std::int64_t groups : {1, 2}) {
    check(
        "conv",
        [&](GraphBuilder& builder) {
          return builder.conv2d("c", builder.input("x", {2, 8, 8, 6}), builder.weight("w", {10, 3, 3, 6 / groups}),
                                builder.weight("b", {10}), 2, 1, groups);
        },
        2);
  }
  check("pointwise conv", [](GraphBuilder& builder) {
    return builder.conv2d("c", builder.input("x", {2, 4, 4, 12}), builder.weight("w", {20, 1, 1, 12}),
                          builder.weight("b", {20}), 1, 0, 1);
  });
}

TEST_CASE("gpu products: batched, transposed, broadcast, with epilogues", "[gpu]") {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, std::tuple{33, 47, 17}, std::tuple{64, 32, 48}}) {
    check(
        "product",
        [&, m = m, n = n, k = k](GraphBuilder& builder) {
          const View a = builder.scale("s", builder.input("a", {2, 3, m, k}), 0.2);
          return builder.matmul("p", a, builder.input("b", {2, 3, n, k}).transpose(2, 3));
        },
        2.0);
  }
  check(
      "linear",
      [](GraphBuilder& builder) {
        return builder.linear("l", builder.input("x", {2, 10, 24}), builder.weight("w", {24, 40}).broadcast(0, 2),
                              builder.weight("b", {40}));
      },
      2.0);
}
