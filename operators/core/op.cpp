#include "operators/core/op.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {

const StepTraits& step_traits(StepFn fn) {
  // Order of StepFn. gelu: x*c, erf, 1+, x*, 0.5*; silu: sigmoid, x*; gelu_tanh: x^3 takes 2,
  // its factor, +x, the root, tanh, 1+, x*, 0.5*; a mask fill selects and computes nothing.
  static constexpr std::array<StepTraits, 15> kTable{{{"scale", 1, 0, false},
                                                      {"add", 1, 0, true},
                                                      {"mul", 1, 0, true},
                                                      {"relu", 1, 0, false},
                                                      {"gelu", 5, 1, false},
                                                      {"silu", 2, 1, false},
                                                      {"sigmoid", 1, 1, false},
                                                      {"mask_fill", 0, 0, false},
                                                      {"mask_zero", 0, 0, false},
                                                      {"square", 1, 0, false},
                                                      {"exp", 1, 1, false},
                                                      {"elu_plus_one", 4, 1, false},
                                                      {"divide", 1, 0, true},
                                                      {"tanh", 1, 1, false},
                                                      {"gelu_tanh", 9, 1, false}}};
  return kTable.at(static_cast<std::size_t>(fn));
}

std::string_view name_of(const Primitive& primitive) {
  return std::visit([](const auto& op) { return std::decay_t<decltype(op)>::kName; }, primitive);
}

namespace {

std::string shape_of_matmul(const MatMul& op) {
  Count batch = 1;
  for (std::size_t i = 0; i + 2 < op.c.rank(); ++i) {
    batch *= op.c.dims[i];
  }
  const std::string sizes = fmt::format("m{} n{} k{}", op.a.dims.back(1), op.b.dims.back(), op.a.dims.back());
  return batch == 1 ? sizes : fmt::format("b{} {}", batch.value(), sizes);
}

} // namespace

std::string shape_of(const Primitive& primitive) {
  return std::visit(
      Overloaded{
          [](const MatMul& op) { return shape_of_matmul(op); },
          [](const Attention& op) {
            return fmt::format("b{} kv_heads{} group{} q{} k{} qk_dim{} v_dim{}{}", op.q.dims[0], op.q.dims[1],
                               op.q.dims[2], op.q.dims[3], op.k.dims[2], op.k.dims[3], op.v.dims[3],
                               op.weights == Attention::Weights::kSquaredRelu ? " relu2" : "");
          },
          [](const Conv2d& op) { return fmt::format("{} kernel{} groups{}", op.y.shape(), op.w.dims[1], op.groups); },
          [](const DepthwiseConv2d& op) { return fmt::format("{} kernel{}", op.y.shape(), op.w.dims.back()); },
          [](const auto& op) { return op.y.shape(); }},
      primitive);
}

} // namespace attnprof::operators
