#include "tests/unit/cpu_testing.hpp"

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

struct Case {
  std::int64_t batch, kv_heads, group, n_q, n_k, qk_dim, v_dim;
  Mask mask;
  Tiles tiles;
  bool bias;
  double scale;
  Attention::Weights weights = Attention::Weights::kSoftmax;
};

Graph attention_graph(DType dtype, const Case& c, bool strided) {
  GraphBuilder builder(dtype);
  // Strided: heads beside each other in a row of a projection, as the fused plan reads them.
  const auto heads = [&](const std::string& name, std::int64_t count, std::int64_t tokens, std::int64_t width) {
    if (strided) {
      return builder.input(name, {c.batch, tokens, count * width}).split(2, count, width).transpose(1, 2);
    }
    return builder.input(name, {c.batch, count, tokens, width});
  };
  Attention op;
  op.q = heads("q", c.kv_heads * c.group, c.n_q, c.qk_dim).split(1, c.kv_heads, c.group);
  op.k = heads("k", c.kv_heads, c.n_k, c.qk_dim);
  op.v = heads("v", c.kv_heads, c.n_k, c.v_dim);
  op.y = heads("y", c.kv_heads * c.group, c.n_q, c.v_dim).split(1, c.kv_heads, c.group);
  op.scale = c.scale;
  op.mask = c.mask;
  op.tiles = c.tiles;
  op.weights = c.weights;
  if (c.bias) {
    op.bias =
        builder.input("bias", {c.kv_heads * c.group, c.n_q, c.n_k}).split(0, c.kv_heads, c.group).broadcast(0, c.batch);
  }
  Graph graph = builder.take();
  graph.tensors[static_cast<std::size_t>(op.y.tensor)].role = TensorRole::kOutput;
  graph.ops.push_back({"attention", op});
  return graph;
}

constexpr auto kSquares = Attention::Weights::kSquaredRelu;

const std::vector<Case> kCases{
    {1, 1, 1, 1, 1, 1, 1, {}, {1, 1}, false, 1.0},
    {2, 3, 1, 196, 196, 64, 64, {}, {28, 256}, false, 0.125},
    {1, 2, 2, 33, 70, 24, 40, {true, 0}, {10, 24}, false, 0.2},
    {1, 2, 1, 70, 33, 16, 16, {true, 0}, {8, 16}, false, 0.25}, // the first rows attend to nothing
    {1, 2, 2, 90, 90, 20, 12, {true, 17}, {16, 32}, false, 0.3},
    {2, 1, 3, 17, 45, 33, 9, {}, {5, 7}, true, 0.2},
    {1, 5, 1, 40, 40, 8, 72, {true, 0}, {64, 64}, true, -0.5}, // a negative scale turns the maximum round
    // Few rows: the decoding core.
    {2, 3, 1, 1, 77, 64, 64, {}, {1, 256}, false, 0.125},
    {1, 1, 8, 1, 1000, 32, 48, {}, {1, 128}, false, 0.2},
    {1, 2, 4, 2, 300, 24, 20, {true, 0}, {2, 64}, false, 0.2},
    {1, 1, 1, 4, 513, 16, 8, {true, 100}, {4, 128}, true, 0.3},
    {1, 2, 1, 5, 3, 16, 8, {true, 0}, {8, 128}, false, 0.3},
    {1, 1, 1, 1, 5, 8, 8, {true, 2}, {8, 128}, false, 0.3},
    {3, 1, 2, 3, 41, 17, 19, {}, {3, 8}, true, -0.4},
    // Squared-relu weights, tiled and few rows; rows before the first key stay zero.
    {2, 1, 1, 196, 196, 64, 40, {}, {64, 128}, false, 1.0 / 196, kSquares},
    {2, 1, 1, 130, 130, 24, 33, {true, 0}, {64, 64}, false, 0.01, kSquares},
    {1, 2, 1, 70, 33, 16, 16, {true, 0}, {8, 16}, false, 0.02, kSquares},
    {1, 2, 2, 90, 90, 20, 12, {true, 17}, {16, 32}, false, -0.02, kSquares},
    {1, 1, 1, 1, 1000, 32, 48, {}, {1, 128}, false, 0.001, kSquares},
    {2, 1, 2, 3, 300, 24, 20, {true, 0}, {2, 64}, false, 0.004, kSquares},
};

} // namespace

TEST_CASE("cpu attention: tiled and decoding cores against the reference", "[cpu]") {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      for (const bool strided : {false, true}) {
        INFO(name_of(dtype) << " case " << i << " strided " << strided);
        check_everywhere(attention_graph(dtype, kCases[i], strided), tolerance(dtype));
      }
    }
  }
}

TEST_CASE("cpu attention: widths and keys with no dense dimension", "[cpu]") {
  for (const std::int64_t n_q : {2, 20}) {
    GraphBuilder builder(DType::kF32);
    Attention op;
    op.q = builder.input("q", {1, 2, 1, 16, n_q}).transpose(3, 4);
    op.k = builder.input("k", {1, 2, 16, 37}).transpose(2, 3);
    op.v = builder.input("v", {1, 2, 12, 37}).transpose(2, 3);
    op.y = builder.input("y", {1, 2, 1, 12, n_q}).transpose(3, 4);
    op.scale = 0.25;
    op.tiles = {8, 16};
    Graph graph = builder.take();
    graph.tensors[static_cast<std::size_t>(op.y.tensor)].role = TensorRole::kOutput;
    graph.ops.push_back({"attention", op});
    check_everywhere(graph, tolerance(DType::kF32));
  }
}

TEST_CASE("cpu attention: scores far apart neither overflow nor lose the largest", "[cpu]") {
  for (const std::int64_t n_q : {1, 40}) {
    Case c{1, 1, 1, n_q, 64, 8, 8, {}, {16, 16}, false, 300.0};
    check_everywhere(attention_graph(DType::kF32, c, false), 2e-4); // the scale multiplies the rounding of the scores
  }
}
