#include "operators/core/fuse_attention.hpp"

#include "operators/core/plan.hpp"
#include "operators/core/uses.hpp"

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
  std::vector<std::size_t> between;   ///< element-wise ops from the scores to the weights, without the softmax
  std::optional<std::size_t> softmax; ///< the op that makes the weights, else they are a squared relu
  std::size_t mix = 0;
};

bool single_use(const Uses& uses, TensorId tensor) {
  return uses.writers[static_cast<std::size_t>(tensor)].size() == 1 &&
         uses.readers[static_cast<std::size_t>(tensor)].size() == 1;
}

/// Follows the data from a mix back to its scores. Between them stand element-wise ops, and a softmax at most as the
/// last.
std::optional<Core> match_core(const Graph& graph, const Uses& uses, std::size_t mix) {
  const MatMul& product = std::get<MatMul>(graph.ops[mix].primitive);
  if (product.mask_axes != MatMul::MaskAxes::kRowsInner || !product.epilogue.empty()) {
    return std::nullopt;
  }
  Core core;
  core.mix = mix;
  View view = product.a;
  while (true) {
    if (!single_use(uses, view.tensor)) {
      return std::nullopt;
    }
    const std::size_t writer = uses.writers[static_cast<std::size_t>(view.tensor)].front();
    const Primitive& primitive = graph.ops[writer].primitive;
    if (const auto* scores = std::get_if<MatMul>(&primitive)) {
      if (scores->mask_axes != MatMul::MaskAxes::kRowsColumns || scores->c != view || !scores->epilogue.empty()) {
        return std::nullopt;
      }
      core.scores = writer;
      return core;
    }
    const auto* softmax = std::get_if<Softmax>(&primitive);
    if (softmax != nullptr && softmax->y == view && !core.softmax && core.between.empty()) {
      core.softmax = writer;
      view = softmax->x;
      continue;
    }
    const auto* pointwise = std::get_if<Pointwise>(&primitive);
    if (pointwise == nullptr || pointwise->y != view) {
      return std::nullopt;
    }
    core.between.insert(core.between.begin(), writer);
    view = pointwise->x;
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

Steps steps_between(const Graph& graph, const Core& core) {
  Steps out;
  for (const std::size_t i : core.between) {
    const Steps& steps = std::get<Pointwise>(graph.ops[i].primitive).steps;
    out.insert(out.end(), steps.begin(), steps.end());
  }
  return out;
}

/// softmax(scale * scores + bias, masked): false where the steps are others.
bool take_softmax_steps(const Steps& steps, Attention& out) {
  bool scaled = false;
  for (const Step& step : steps) {
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
bool take_squared_relu_steps(const Steps& steps, Attention& out) {
  const std::size_t masks = out.mask.any() ? 1 : 0;
  if (steps.size() != 3 + masks || steps[0].fn != StepFn::kRelu || steps[1].fn != StepFn::kSquare ||
      steps[2].fn != StepFn::kScale) {
    return false;
  }
  out.weights = Attention::Weights::kSquaredRelu;
  out.scale = steps[2].value;
  return masks == 0 || (steps[3].fn == StepFn::kMaskZero && steps[3].mask == out.mask);
}

std::optional<Attention> attention_of(const Graph& graph, const Core& core) {
  const MatMul& scores = std::get<MatMul>(graph.ops[core.scores].primitive);
  const MatMul& mix = std::get<MatMul>(graph.ops[core.mix].primitive);
  const std::optional<View> keys = as_keys(scores.b.transpose(scores.b.rank() - 2, scores.b.rank() - 1));
  const std::optional<View> values = as_keys(mix.b);
  if (!keys || !values || scores.a.rank() < 3) {
    return std::nullopt;
  }
  Attention out;
  out.q = as_queries(scores.a);
  out.k = *keys;
  out.v = *values;
  out.y = as_queries(mix.c);
  out.mask = scores.mask;
  out.useful_pairs = scores.useful_entries;
  out.tiles = attention_tiles(out.q.dims[3], out.k.dims[2], out.q.dims[4], out.v.dims[3], out.mask.any());
  const Steps steps = steps_between(graph, core);
  const bool taken = core.softmax ? take_softmax_steps(steps, out) : take_squared_relu_steps(steps, out);
  return taken ? std::optional(out) : std::nullopt;
}

} // namespace

void fuse_attention_cores(Graph& graph) {
  const Uses uses = uses_of(graph);
  std::vector<bool> erase(graph.ops.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (!std::holds_alternative<MatMul>(graph.ops[i].primitive)) {
      continue;
    }
    const std::optional<Core> core = match_core(graph, uses, i);
    const std::optional<Attention> attention = core ? attention_of(graph, *core) : std::nullopt;
    if (!attention) {
      continue;
    }
    const std::string& scope = graph.ops[core->scores].scope;
    erase[core->scores] = true;
    for (const std::size_t between : core->between) {
      erase[between] = true;
    }
    if (core->softmax) {
      erase[*core->softmax] = true;
    }
    graph.ops[core->mix] = {scope.substr(0, scope.rfind('/') + 1) + "attention", *attention};
  }
  erase_ops(graph, erase);
}

} // namespace attnprof::operators
