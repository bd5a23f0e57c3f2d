#include "operators/kernels/gpu/plan.hpp"

#include "operators/kernels/gpu/joint.hpp"

#include <fmt/format.h>

namespace attnprof::operators::gpu {
namespace {

const Steps* steps_of(const Primitive& primitive) {
  return std::visit(
      Overloaded{[](const MatMul& op) { return &op.epilogue; }, [](const Pointwise& op) { return &op.steps; },
                 [](const DepthwiseConv2d& op) { return &op.epilogue; }, [](const Conv2d& op) { return &op.epilogue; },
                 [](const auto&) -> const Steps* { return nullptr; }},
      primitive);
}

AttentionArgs sizes_of(const Graph& graph, const Attention& op, const DeviceFacts& facts) {
  const Memory nowhere;
  return plan_attention(Binder(graph, nowhere), op, facts);
}

/// Partial results of a split attention: maximum, sum and values of every row, in f32.
std::int64_t partial_bytes(const AttentionArgs& args) {
  if (args.splits == 1) {
    return 0;
  }
  return (Count(args.batch) * args.kv_heads * args.group * args.n_q * args.splits * (args.v_dim + 2) * 4).value();
}

} // namespace

std::optional<std::string> refusal(const Graph& graph, const Op& op, const DeviceFacts& facts) {
  const Steps* steps = steps_of(op.primitive);
  if (steps != nullptr && steps->size() > kMaxSteps) {
    return fmt::format("{}: a chain of {} steps is longer than the {} that a kernel takes: use --plan eager", op.scope,
                       steps->size(), kMaxSteps);
  }
  if (const auto* attention = std::get_if<Attention>(&op.primitive)) {
    const AttentionArgs args = sizes_of(graph, *attention, facts);
    if (Count(args.group) * args.n_q > kMostAttentionRows || args.n_k > kMostAttentionRows) {
      return fmt::format("{}: {} queries of {} heads on {} keys are more than the {} that a kernel counts: use --plan "
                         "eager",
                         op.scope, args.n_q, args.group, args.n_k, kMostAttentionRows);
    }
    if (args.shared_bytes > facts.shared_bytes) {
      return fmt::format("{}: queries and keys {} wide need {} bytes of shared memory a block and this device has {}: "
                         "use --plan eager",
                         op.scope, args.qk_dim, args.shared_bytes, facts.shared_bytes);
    }
  }
  const auto* conv = std::get_if<Conv2d>(&op.primitive);
  if (conv != nullptr && !conv->w.contiguous()) {
    return fmt::format("{}: the convolution's weights {} are not dense", op.scope, conv->w.shape());
  }
  return std::nullopt;
}

std::int64_t scratch_bytes(const Graph& graph, const Op& op, const DeviceFacts& facts) {
  const auto* attention = std::get_if<Attention>(&op.primitive);
  return attention == nullptr ? 0 : partial_bytes(sizes_of(graph, *attention, facts));
}

LaunchArgs plan_launch(const Graph& graph, const Op& op, const DeviceFacts& facts, const Memory& memory) {
  const Binder binder(graph, memory);
  return std::visit(Overloaded{[&](const Attention& one) -> LaunchArgs { return plan_attention(binder, one, facts); },
                               [&](const auto& one) -> LaunchArgs { return plan(binder, one); }},
                    op.primitive);
}

} // namespace attnprof::operators::gpu
