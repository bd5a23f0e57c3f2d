#include "operators/core/fuse_attention.hpp"

#include "operators/core/plan.hpp"

#include <algorithm>

namespace attnprof::operators {

Tiles attention_tiles(std::int64_t n_q, std::int64_t n_k, std::int64_t qk_dim, std::int64_t v_dim, bool masked) {
  // 64 query rows reuse a key tile enough; the score tile and the packed keys and values of a tile stay in 256 KiB,
  // about half of a second-level cache.
  constexpr std::int64_t kTileBytes = 256 * 1024;
  Tiles tiles;
  tiles.queries = std::min<std::int64_t>(n_q, 64);
  const std::int64_t bytes_per_key = 4 * (tiles.queries + qk_dim + v_dim);
  tiles.keys = std::clamp<std::int64_t>(kTileBytes / bytes_per_key / 64 * 64, 64, 256);
  if (masked && n_q > 1) {
    // Whole tiles are skipped: 256 keys would hold all of 196, and a fifth of the pairs of 1024 for nothing. Narrower
    // ones correct their sums more often, which longer rows feel.
    tiles.keys = std::min<std::int64_t>(tiles.keys, n_k <= 512 ? 64 : 128);
  }
  tiles.keys = std::min(tiles.keys, round_up(n_k, 64));
  return tiles;
}

namespace {

struct Core {
  std::size_t scores = 0;
  InlineList<std::size_t, 4> between; ///< element-wise ops between scores and weights, without the softmax, last first
  std::optional<std::size_t> softmax; ///< the op that makes the weights, else they are a squared relu
  std::size_t mix = 0;
};

bool single_use(const Uses& uses, TensorId tensor) {
  return uses.writers(tensor).size() == 1 && uses.readers(tensor).size() == 1;
}

/// Follows the data from a mix back to its scores. Between them stand element-wise ops, and a softmax at most as the
/// last.
std::optional<Core> match_core(const Rewriting& ops, std::size_t mix) {
  const MatMul& product = std::get<MatMul>(ops.op(mix).primitive);
  if (product.mask_axes != MatMul::MaskAxes::kRowsInner || !product.epilogue.empty()) {
    return std::nullopt;
  }
  Core core;
  core.mix = mix;
  const View* view = &product.a;
  while (true) {
    if (!single_use(ops.uses(), view->tensor)) {
      return std::nullopt;
    }
    const std::size_t writer = ops.uses().writers(view->tensor).front();
    const Primitive& primitive = ops.op(writer).primitive;
    if (const auto* scores = std::get_if<MatMul>(&primitive)) {
      if (scores->mask_axes != MatMul::MaskAxes::kRowsColumns || scores->c != *view || !scores->epilogue.empty()) {
        return std::nullopt;
      }
      core.scores = writer;
      return core;
    }
    const auto* softmax = std::get_if<Softmax>(&primitive);
    if (softmax != nullptr && softmax->y == *view && !core.softmax && core.between.empty()) {
      core.softmax = writer;
      view = &softmax->x;
      continue;
    }
    const auto* pointwise = std::get_if<Pointwise>(&primitive);
    if (pointwise == nullptr || pointwise->y != *view) {
      return std::nullopt;
    }
    core.between.push_back(writer);
    view = &pointwise->x;
  }
}

/// [batch, kv_heads, group, tokens, width] from [batch, tokens, width] or [batch, heads, tokens, width].
View as_queries(View view) {
  if (view.rank() == 3) {
    view = view.broadcast(1, 1);
  }
  return view.rank() == 4 ? view.broadcast(2, 1) : view;
}

/// [batch, kv_heads, tokens, width]; absent where the group does not share its keys.
std::optional<View> as_keys(const View& view) {
  if (view.rank() == 5) {
    return view.strides[2] == 0 || view.dims[2] == 1 ? std::optional(view.select(2, 0)) : std::nullopt;
  }
  return view.rank() == 3 ? view.broadcast(1, 1) : view;
}

/// In the order in which they are applied.
using StepPointers = InlineList<const Step*, 4>;
StepPointers steps_between(const Rewriting& ops, const Core& core) {
  StepPointers out;
  for (std::size_t i = core.between.size(); i-- > 0;) {
    for (const Step& step : std::get<Pointwise>(ops.op(core.between[i]).primitive).steps) {
      out.push_back(&step);
    }
  }
  return out;
}

/// softmax(scale * scores + bias, masked): false where the steps are others.
bool take_softmax_steps(const StepPointers& steps, Attention& out) {
  bool scaled = false;
  for (const Step* pointer : steps) {
    const Step& step = *pointer;
    if (step.fn == StepFn::kScale && !scaled && !out.bias) {
      out.scale = step.value;
      scaled = true;
    } else if (step.fn == StepFn::kAdd && scaled && !out.bias) {
      out.bias = as_queries(*step.operand);
    } else if (!(step.fn == StepFn::kMaskFill && step.mask == out.mask)) {
      return false;
    }
  }
  return scaled;
}

/// relu(scores)² * scale, masked to zero: false where the steps are others, or leave entries that the mask drops.
bool take_squared_relu_steps(const StepPointers& steps, Attention& out) {
  const std::size_t masks = out.mask.any() ? 1 : 0;
  if (steps.size() != 3 + masks || steps[0]->fn != StepFn::kRelu || steps[1]->fn != StepFn::kSquare ||
      steps[2]->fn != StepFn::kScale) {
    return false;
  }
  out.weights = Attention::Weights::kSquaredRelu;
  out.scale = steps[2]->value;
  return masks == 0 || (steps[3]->fn == StepFn::kMaskZero && steps[3]->mask == out.mask);
}

std::optional<Attention> attention_of(const Rewriting& ops, const Core& core) {
  const MatMul& scores = std::get<MatMul>(ops.op(core.scores).primitive);
  const MatMul& mix = std::get<MatMul>(ops.op(core.mix).primitive);
  const std::optional<View> keys = as_keys(scores.b.transpose(scores.b.rank() - 2, scores.b.rank() - 1));
  const std::optional<View> values = as_keys(mix.b);
  if (!keys || !values || scores.a.rank() < 3) {
    return std::nullopt;
  }
  std::optional<Attention> made(std::in_place);
  Attention& out = *made;
  out.q = as_queries(scores.a);
  out.k = *keys;
  out.v = *values;
  out.y = as_queries(mix.c);
  out.mask = scores.mask;
  out.useful_pairs = scores.useful_entries;
  out.tiles = attention_tiles(out.q.dims[3], out.k.dims[2], out.q.dims[4], out.v.dims[3], out.mask.any());
  const StepPointers steps = steps_between(ops, core);
  if (!(core.softmax ? take_softmax_steps(steps, out) : take_squared_relu_steps(steps, out))) {
    made.reset();
  }
  return made;
}

} // namespace

void fuse_attention_cores(Rewriting& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!std::holds_alternative<MatMul>(ops.op(i).primitive)) {
      continue;
    }
    const std::optional<Core> core = match_core(ops, i);
    std::optional<Attention> attention = core ? attention_of(ops, *core) : std::nullopt;
    if (!attention) {
      continue;
    }
    ops.erase(core->scores);
    for (const std::size_t between : core->between) {
      ops.erase(between);
    }
    if (core->softmax) {
      ops.erase(*core->softmax);
    }
    const std::string& scope = ops.op(core->scores).scope;
    ops.rewrite(core->mix, [&](Op& op) {
      op.scope.assign(scope, 0, scope.rfind('/') + 1).append("attention");
      op.primitive = std::move(*attention);
    });
  }
}

} // namespace attnprof::operators
