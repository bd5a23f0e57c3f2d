#include "tests/unit/cpu_testing.hpp"

#include "operators/exec/fill.hpp"

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

const std::vector<std::int64_t> kWidths{1, 2, 3, 7, 8, 15, 16, 31, 33, 64, 100, 196, 511, 512, 513, 1200, 5000};

template <class Build>
void check_with_output(DType dtype, double allowed, Build&& build) {
  GraphBuilder builder(dtype);
  const View y = build(builder);
  builder.mark_output(y, "out");
  check_everywhere(builder.take(), allowed);
}

} // namespace

TEST_CASE("cpu softmax: every width, dense and strided", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const std::int64_t width : kWidths) {
      INFO(name_of(dtype) << " width " << width);
      check_with_output(dtype, tolerance(dtype), [&](GraphBuilder& builder) {
        return builder.softmax("s", builder.input("x", {3, 5, width}));
      });
      check_with_output(dtype, tolerance(dtype), [&](GraphBuilder& builder) {
        return builder.softmax("s", builder.input("x", {3, width, 5}).transpose(1, 2));
      });
    }
  }
}

TEST_CASE("cpu softmax: a row of -inf gives zeros and a row with NaN gives NaN", "[cpu]") {
  for (const std::string& isa : cpu::runnable_isas()) {
    GraphBuilder builder(DType::kF32);
    const View x = builder.input("x", {4, 19});
    const View y = builder.softmax("s", x);
    builder.mark_output(y, "out");
    const auto program = make_cpu_executor()->prepare(builder.graph(), {1, isa, 1});
    std::vector<float> values(4 * 19, -INFINITY);
    values[19 + 4] = 3.0F;
    values[2 * 19 + 18] = NAN;
    for (std::size_t i = 3 * 19; i < 4 * 19; ++i) {
      values[i] = i % 2 == 0 ? -INFINITY : 80.0F;
    }
    program->write(x.tensor, values);
    program->run();
    const std::vector<float> got = program->read(y.tensor);
    for (std::size_t i = 0; i < 19; ++i) {
      CHECK(got[i] == 0.0F);
      CHECK(got[19 + i] == (i == 4 ? 1.0F : 0.0F));
      CHECK(std::isnan(got[2 * 19 + i]));
      CHECK(std::abs(got[3 * 19 + i] - ((3 * 19 + i) % 2 == 0 ? 0.0F : 0.1F)) < 1e-7F);
    }
  }
}

TEST_CASE("cpu layernorm and rmsnorm: every width and dtype", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const std::int64_t width : kWidths) {
      INFO(name_of(dtype) << " width " << width);
      GraphBuilder builder(dtype);
      const View x = builder.input("x", {7, width});
      const View gamma = builder.weight("gamma", {width});
      const View beta = builder.weight("beta", {width});
      // eps well above the variance of a row of one, so that rounding is not magnified.
      const View y = builder.layernorm("ln", x, gamma, beta, 1e-2);
      builder.mark_output(y, "out");
      const View z = builder.temporary({7, width});
      builder.mark_output(z, "rms");
      Graph graph = builder.take();
      graph.ops.push_back({"rms", LayerNorm{x, z, gamma, {}, 1e-2}});
      check_everywhere(graph, dtype == DType::kF32 ? 1e-5 : tolerance(dtype));
    }
  }
}

TEST_CASE("cpu rope: halves turn against each other, heads read and written where they lie", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const std::int64_t width : {2, 6, 16, 64, 130}) {
      check_with_output(dtype, tolerance(dtype), [&](GraphBuilder& builder) {
        const View x = builder.input("x", {2, 9, 3 * width}).split(2, 3, width).transpose(1, 2);
        return builder.rope("r", x, builder.rope_table(9, width, 5));
      });
    }
  }
}

TEST_CASE("cpu pointwise: each step", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const std::int64_t width : kWidths) {
      for (const StepFn fn : {StepFn::kScale, StepFn::kAdd, StepFn::kMul, StepFn::kRelu, StepFn::kGelu, StepFn::kSilu,
                              StepFn::kSigmoid, StepFn::kTanh, StepFn::kGeluTanh, StepFn::kMaskFill}) {
        INFO(name_of(dtype) << " width " << width << " " << step_traits(fn).name);
        check_with_output(dtype, tolerance(dtype), [&](GraphBuilder& builder) {
          const View x = builder.input("x", {2, 6, width});
          Step step{fn, -1.5, {}, {}};
          if (step_traits(fn).takes_operand) {
            step.operand = builder.input("z", {6, width}).broadcast(0, 2);
          }
          step.mask = Mask{true, 4};
          return builder.pointwise("p", x, step);
        });
      }
    }
  }
}

TEST_CASE("cpu pointwise: chains with operands of any stride", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    GraphBuilder builder(dtype);
    const View x = builder.input("x", {3, 70, 41}).transpose(1, 2);
    const View column = builder.input("column", {41, 1});
    View across = column;
    across.dims[1] = 70;
    across.strides[1] = 0;
    const View y = builder.temporary({3, 41, 70});
    builder.mark_output(y, "out");
    const View gate = builder.input("gate", {3, 41, 140}).slice(2, 70, 70);
    Graph graph = builder.take();
    graph.ops.push_back({"chain", Pointwise{x,
                                            y,
                                            {{StepFn::kAdd, 0.0, across.broadcast(0, 3), {}},
                                             {StepFn::kSilu, 0.0, {}, {}},
                                             {StepFn::kMul, 0.0, gate, {}},
                                             {StepFn::kMaskFill, 0.0, {}, Mask{true, 50}}}}});
    check_everywhere(graph, tolerance(dtype));
  }
}

TEST_CASE("cpu copy: layouts, transposes, slices and broadcasts", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const std::vector<std::vector<std::size_t>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const auto& sizes : std::vector<Extents>{{1, 1, 1}, {3, 50, 64}, {40, 5, 33}, {17, 31, 7}, {2, 130, 4100}}) {
      for (const auto& order : orders) {
        INFO(name_of(dtype) << " " << shape_of(sizes) << " order " << order[0] << order[1] << order[2]);
        check_with_output(dtype, 0.0, [&](GraphBuilder& builder) {
          const View x = builder.input("x", sizes);
          View turned = x;
          for (std::size_t i = 0; i < 3; ++i) {
            turned.dims[i] = x.dims[order[i]];
            turned.strides[i] = x.strides[order[i]];
          }
          return builder.layout_copy("c", turned);
        });
      }
    }
    check_with_output(dtype, 0.0, [&](GraphBuilder& builder) {
      return builder.layout_copy("c", builder.input("x", {4, 9}).slice(1, 2, 5).broadcast(1, 3));
    });
  }
}

TEST_CASE("cpu copy: appending to a cache leaves the past as it was", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    GraphBuilder builder(dtype);
    const View cache = builder.cache("k_cache", {2, 3, 12, 16}, 10);
    builder.copy_into("append", builder.input("k", {2, 2, 3 * 16}).split(2, 3, 16).transpose(1, 2),
                      cache.slice(2, 10, 2));
    check_everywhere(builder.take(), 0.0);
  }
}

TEST_CASE("cpu depthwise: kernels, strides, borders, channels and epilogues", "[cpu]") {
  struct Conv {
    std::int64_t height, width, channels, kernel, stride, pad;
  };
  const std::vector<Conv> convs{
      {14, 14, 32, 3, 1, 1}, {14, 14, 19, 5, 1, 2}, {9, 30, 8, 7, 1, 3},    {5, 4, 3, 3, 1, 1},
      {2, 2, 6, 5, 1, 2},    {12, 11, 10, 3, 2, 1}, {10, 10, 4, 9, 1, 4},   {1, 1, 1, 3, 1, 1},
      {8, 9, 5, 3, 1, 0},    {7, 7, 16, 1, 1, 0},   {13, 13, 600, 3, 3, 1}, {6, 20, 9, 3, 1, 2},
      {7, 7, 32, 3, 1, 1},   {5, 14, 16, 7, 1, 3},  {9, 21, 48, 5, 1, 2},   {3, 28, 16, 3, 1, 1}};
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const Conv& c : convs) {
      INFO(name_of(dtype) << " " << c.height << "x" << c.width << "x" << c.channels << " kernel " << c.kernel
                          << " stride " << c.stride << " pad " << c.pad);
      GraphBuilder builder(dtype);
      const View y = builder.depthwise_conv2d("dw", builder.input("x", {2, c.height, c.width, c.channels}),
                                              builder.weight("w", {c.channels, c.kernel, c.kernel}),
                                              builder.weight("b", {c.channels}), c.stride, c.pad);
      builder.mark_output(y, "out");
      const View residual = builder.input("r", y.dims);
      Graph graph = builder.take();
      auto& epilogue = std::get<DepthwiseConv2d>(graph.ops[0].primitive).epilogue;
      epilogue.push_back({StepFn::kGelu, 0.0, {}, {}});
      epilogue.push_back({StepFn::kAdd, 0.0, residual, {}});
      check_everywhere(graph, dtype == DType::kF32 ? 1e-5 : tolerance(dtype));
    }
  }
}

TEST_CASE("cpu depthwise: images and weights of any stride", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  const View image = builder.input("x", {2, 6, 9, 8}).transpose(1, 2).transpose(2, 3); // channels first in memory
  const View w = builder.input("w", {3, 3, 6}).transpose(0, 2);
  const View y = builder.depthwise_conv2d("dw", image, w, builder.weight("b", {6}), 1, 1);
  builder.mark_output(y, "out");
  check_everywhere(builder.take(), 1e-5);
}
