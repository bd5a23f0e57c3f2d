#include "tests/unit/cpu_testing.hpp"

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

struct Shape {
  std::int64_t m, n, k;
};
const std::vector<Shape> kShapes{{1, 1, 1},     {1, 37, 19},  {2, 16, 64},     {3, 33, 5},    {4, 130, 70},
                                 {5, 8, 8},     {6, 16, 7},   {7, 17, 33},     {13, 31, 9},   {14, 32, 64},
                                 {15, 65, 3},   {29, 64, 40}, {49, 49, 16},    {97, 40, 130}, {196, 50, 64},
                                 {33, 300, 24}, {8, 24, 700}, {230, 300, 350}, {5, 1000, 20}, {70, 3, 900}};

View named_output(GraphBuilder& builder, const View& view) {
  builder.mark_output(view, "out");
  return view;
}

} // namespace

TEST_CASE("cpu matmul: packed weights, every shape and dtype", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const Shape& s : kShapes) {
      INFO(name_of(dtype) << " m" << s.m << " n" << s.n << " k" << s.k);
      GraphBuilder builder(dtype);
      named_output(builder, builder.matmul("p", builder.input("x", {s.m, s.k}), builder.weight("w", {s.k, s.n})));
      check_everywhere(builder.take(), tolerance(dtype));
    }
  }
}

TEST_CASE("cpu matmul: batched, both factors transposed or not, in place of a copy", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const Shape& s : kShapes) {
      for (const int transposed : {0, 1, 2, 3}) {
        INFO(name_of(dtype) << " m" << s.m << " n" << s.n << " k" << s.k << " transposed " << transposed);
        GraphBuilder builder(dtype);
        const bool ta = (transposed & 1) != 0;
        const bool tb = (transposed & 2) != 0;
        View a = builder.input("a", ta ? Extents{3, s.k, s.m} : Extents{3, s.m, s.k});
        View b = builder.input("b", tb ? Extents{3, s.n, s.k} : Extents{3, s.k, s.n});
        a = ta ? a.transpose(1, 2) : a;
        b = tb ? b.transpose(1, 2) : b;
        named_output(builder, builder.matmul("p", a, b));
        // Rounding of sums of k products of values in [-1, 1].
        check_everywhere(builder.take(), tolerance(dtype) + 3e-8 * static_cast<double>(s.k));
      }
    }
  }
}

TEST_CASE("cpu matmul: operands with no dense dimension", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  const auto every_second = [](View view, std::size_t dim) {
    view.dims[dim] /= 2;
    view.strides[dim] *= 2;
    return view;
  };
  const View a = every_second(every_second(builder.input("a", {2, 30, 40}), 1), 2);
  const View b = every_second(every_second(builder.input("b", {2, 40, 66}), 1), 2);
  const View c = builder.input("sink", {2, 30, 66});
  Graph graph = builder.take();
  graph.tensors[static_cast<std::size_t>(c.tensor)].role = TensorRole::kOutput;
  graph.ops.push_back({"p", MatMul{a, b, every_second(every_second(c, 1), 2), {}, MatMul::MaskAxes::kNone, {}, {}}});
  check_everywhere(graph, 1e-5);
}

TEST_CASE("cpu matmul: grouped queries share keys and values without a copy", "[cpu]") {
  for (const std::int64_t n_q : {1, 2, 9, 40}) {
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      INFO("n_q " << n_q << " " << name_of(dtype));
      GraphBuilder builder(dtype);
      const View q = builder.input("q", {2, 3, 4, n_q, 24});
      const View k = builder.input("k", {2, 3, 50, 24}).broadcast(2, 4);
      const View v = builder.input("v", {2, 3, 50, 20}).broadcast(2, 4);
      const View scores = builder.matmul("scores", q, k.transpose(3, 4));
      named_output(builder, builder.matmul("mix", builder.softmax("softmax", scores), v));
      check_everywhere(builder.take(), dtype == DType::kF32 ? 1e-5 : 1e-2);
    }
  }
}

TEST_CASE("cpu matmul: head-split factors are read where they lie", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  const View q = builder.input("q", {2 * 33, 5 * 24}).split(0, 2, 33).split(2, 5, 24).transpose(1, 2);
  const View k = builder.input("k", {2 * 21, 5 * 24}).split(0, 2, 21).split(2, 5, 24).transpose(1, 2);
  named_output(builder, builder.matmul("scores", q, k.transpose(2, 3)));
  check_everywhere(builder.take(), 1e-5);
}

TEST_CASE("cpu matmul: epilogues of bias, activation, gate, residual, scale and mask", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const std::int64_t tokens : {1, 3, 50}) {
      INFO(name_of(dtype) << " tokens " << tokens);
      GraphBuilder builder(dtype);
      const View x = builder.input("x", {2, tokens, 40});
      const View bias = builder.weight("bias", {70});
      const View residual = builder.input("residual", {tokens, 70});
      const View gate = builder.input("gate", {2, 70, tokens}).transpose(1, 2);
      const View y = named_output(builder, builder.matmul("p", x, builder.weight("w", {40, 70}).broadcast(0, 2)));
      Graph graph = builder.take();
      std::get<MatMul>(graph.ops[0].primitive).epilogue = {
          {StepFn::kAdd, 0.0, bias.broadcast(0, tokens).broadcast(0, 2), {}},
          {StepFn::kGelu, 0.0, {}, {}},
          {StepFn::kMul, 0.0, gate, {}},
          {StepFn::kScale, 0.5, {}, {}},
          {StepFn::kAdd, 0.0, residual.broadcast(0, 2), {}},
          {StepFn::kMaskFill, 0.0, {}, Mask{true, 9}}};
      CHECK(y.dims == Extents{2, tokens, 70});
      check_everywhere(graph, tolerance(dtype));
    }
  }
}

TEST_CASE("cpu matmul: a mask keeps its queries when groups are folded into rows", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  const View q = builder.input("q", {2, 3, 7, 16});
  const View k = builder.input("k", {2, 11, 16}).broadcast(1, 3);
  named_output(builder, builder.matmul("scores", q, k.transpose(2, 3)));
  Graph graph = builder.take();
  std::get<MatMul>(graph.ops[0].primitive).epilogue = {{StepFn::kMaskFill, 0.0, {}, Mask{true, 4}}};
  check_everywhere(graph, 1e-5);
}

TEST_CASE("cpu matmul: a weight that is also read otherwise, or sliced, keeps its plain layout", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  const View x = builder.input("x", {9, 20});
  const View w = builder.weight("w", {20, 50});
  const View whole = builder.matmul("whole", x, w);
  const View part = builder.matmul("part", x, w.slice(1, 3, 30));
  builder.mark_output(whole, "whole");
  builder.mark_output(part, "part");
  check_everywhere(builder.take(), tolerance(DType::kF32));
}

TEST_CASE("cpu matmul: weights read back as they were written", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    GraphBuilder builder(dtype);
    const View w = builder.weight("w", {7, 41});
    const View y = named_output(builder, builder.matmul("p", builder.input("x", {5, 7}), w));
    const auto program = make_cpu_executor()->prepare(builder.graph(), {1, "", 1});
    std::vector<float> values;
    for (int i = 0; i < 7 * 41; ++i) {
      values.push_back(static_cast<float>(i % 100) - 50.0F); // exact in bf16
    }
    program->write(w.tensor, values);
    CHECK(program->read(w.tensor) == values);
    CHECK_THROWS_AS(program->write(w.tensor, std::vector<float>(3)), Error);
    CHECK(program->memory(w.tensor)->size() >= values.size() * static_cast<std::size_t>(size_bytes(dtype)));
    program->run();
    CHECK(program->read(y.tensor).size() == 5 * 41);
  }
}
