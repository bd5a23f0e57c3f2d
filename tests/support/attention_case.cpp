#include "tests/support/attention_case.hpp"

#include "operators/core/builder.hpp"

namespace attnprof::tests {

using namespace operators;

Graph attention_graph(DType dtype, const AttentionCase& one, bool strided) {
  GraphBuilder builder(dtype);
  const auto heads = [&](const std::string& name, std::int64_t count, std::int64_t tokens, std::int64_t width) {
    if (strided) {
      return builder.input(name, {one.batch, tokens, count * width}).split(2, count, width).transpose(1, 2);
    }
    return builder.input(name, {one.batch, count, tokens, width});
  };
  Attention op;
  op.q = heads("q", one.kv_heads * one.group, one.n_q, one.qk_dim).split(1, one.kv_heads, one.group);
  op.k = heads("k", one.kv_heads, one.n_k, one.qk_dim);
  op.v = heads("v", one.kv_heads, one.n_k, one.v_dim);
  op.y = heads("y", one.kv_heads * one.group, one.n_q, one.v_dim).split(1, one.kv_heads, one.group);
  op.scale = one.scale;
  op.mask = one.mask;
  op.tiles = one.tiles;
  op.weights = one.weights;
  if (one.bias) {
    op.bias = builder.input("bias", {one.kv_heads * one.group, one.n_q, one.n_k})
                  .split(0, one.kv_heads, one.group)
                  .broadcast(0, one.batch);
  }
  Graph graph = builder.take();
  graph.tensors[static_cast<std::size_t>(op.y.tensor)].role = TensorRole::kOutput;
  graph.ops.push_back({"attention", op});
  return graph;
}

} // namespace attnprof::tests
