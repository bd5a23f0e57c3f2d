#include "tests/support/attention_case.hpp"
#include "tests/unit/cpu_testing.hpp"

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

constexpr auto kSoftmax = Attention::Weights::kSoftmax;
constexpr auto kSquares = Attention::Weights::kSquaredRelu;

const std::vector<AttentionCase> kCases{
    {1, 1, 1, 1, 1, 1, 1, {}, false, 1.0, kSoftmax, {1, 1}},
    {2, 3, 1, 196, 196, 64, 64, {}, false, 0.125, kSoftmax, {28, 256}},
    {1, 2, 2, 33, 70, 24, 40, {true, 0}, false, 0.2, kSoftmax, {10, 24}},
    {1, 2, 1, 70, 33, 16, 16, {true, 0}, false, 0.25, kSoftmax, {8, 16}}, // the first rows attend to nothing
    {1, 2, 2, 90, 90, 20, 12, {true, 17}, false, 0.3, kSoftmax, {16, 32}},
    {2, 1, 3, 17, 45, 33, 9, {}, true, 0.2, kSoftmax, {5, 7}},
    {1, 5, 1, 40, 40, 8, 72, {true, 0}, true, -0.5, kSoftmax, {64, 64}}, // a negative scale turns the maximum round
    // Few rows: the decoding core.
    {2, 3, 1, 1, 77, 64, 64, {}, false, 0.125, kSoftmax, {1, 256}},
    {1, 1, 8, 1, 1000, 32, 48, {}, false, 0.2, kSoftmax, {1, 128}},
    {1, 2, 4, 2, 300, 24, 20, {true, 0}, false, 0.2, kSoftmax, {2, 64}},
    {1, 1, 1, 4, 513, 16, 8, {true, 100}, true, 0.3, kSoftmax, {4, 128}},
    {1, 2, 1, 5, 3, 16, 8, {true, 0}, false, 0.3, kSoftmax, {8, 128}},
    {1, 1, 1, 1, 5, 8, 8, {true, 2}, false, 0.3, kSoftmax, {8, 128}},
    {3, 1, 2, 3, 41, 17, 19, {}, true, -0.4, kSoftmax, {3, 8}},
    // Squared-relu weights, tiled and few rows; rows before the first key stay zero.
    {2, 1, 1, 196, 196, 64, 40, {}, false, 1.0 / 196, kSquares, {64, 128}},
    {2, 1, 1, 130, 130, 24, 33, {true, 0}, false, 0.01, kSquares, {64, 64}},
    {1, 2, 1, 70, 33, 16, 16, {true, 0}, false, 0.02, kSquares, {8, 16}},
    {1, 2, 2, 90, 90, 20, 12, {true, 17}, false, -0.02, kSquares, {16, 32}},
    {1, 1, 1, 1, 1000, 32, 48, {}, false, 0.001, kSquares, {1, 128}},
    {2, 1, 2, 3, 300, 24, 20, {true, 0}, false, 0.004, kSquares, {2, 64}},
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
    const AttentionCase one{1, 1, 1, n_q, 64, 8, 8, {}, false, 300.0, kSoftmax, {16, 16}};
    check_everywhere(attention_graph(DType::kF32, one, false), 2e-4); // the scale multiplies the rounding of the scores
  }
}
