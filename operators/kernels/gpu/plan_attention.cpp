#include "operators/kernels/gpu/joint.hpp"

#include <algorithm>
#include <array>

namespace attnprof::operators::gpu {
namespace {

/// Rows of a tile with tensor cores: four warps of 16, or of 32, which read each key half as often. Without: what fits
/// the registers of a block.
constexpr std::int64_t kTensorRows = 64;
constexpr std::int64_t kTallRows = 128;
constexpr std::int64_t kTensorKeys = 64;
constexpr std::int64_t kPlainRows = 16;
/// A block without an opt-in gets this much.
constexpr std::int64_t kEasyShared = 48 * 1024;
/// Keys of a split at least: fewer do not pay for the second launch.
constexpr std::int64_t kLeastSplitKeys = 128;
constexpr std::int64_t kMostSplits = 64;

Operand strided(const Binder& binder, const View& view, bool has_group) {
  View walked = has_group ? view : view.broadcast(2, 1);
  Operand out = binder.operand(view, walked);
  out.strides[2] = has_group ? view.strides[2] : 0;
  return out;
}

std::int64_t attention_shared_bytes(const AttentionArgs& args) {
  const std::int64_t columns = std::min<std::int64_t>(args.v_dim, 128);
  if (args.tensor_cores) {
    const std::int64_t qk = round_up(args.qk_dim, 16) + 8;
    const std::int64_t v = (columns <= 32 ? 32 : columns <= 64 ? 64 : 128) + 8;
    return 2 * (args.tile_rows * qk + args.stages * args.tile_keys * (qk + v));
  }
  const std::int64_t v = columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
  return 4 * (args.tile_rows * args.qk_dim + args.tile_keys * (args.qk_dim + 1) + args.tile_keys * v +
              args.tile_rows * (args.tile_keys + 1) + 3 * args.tile_rows);
}

/// Tall tiles waste no rows here, and there are enough of them for every multiprocessor. They leave no registers for a
/// bias, which is read anew for every row anyway.
bool takes_tall_tiles(const AttentionArgs& args, bool biased, const DeviceFacts& facts) {
  const std::int64_t tiles = ceil_div(args.n_q, kTallRows);
  return args.v_dim > kNarrowValues && !biased && round_up(args.n_q, kTallRows) == round_up(args.n_q, kTensorRows) &&
         tiles * args.batch * args.kv_heads * args.group >= facts.multiprocessors;
}

/// False where no tile fits shared memory. Tiles that leave room for a second block on a multiprocessor come first.
bool choose_tensor_tiles(AttentionArgs& args, bool biased, const DeviceFacts& facts) {
  args.tile_keys = kTensorKeys;
  for (const std::int64_t limit : {facts.shared_bytes / 2, facts.shared_bytes}) {
    for (const std::int64_t rows : {kTallRows, kTensorRows}) {
      for (const int stages : {2, 1}) {
        args.tile_rows = rows;
        args.stages = stages;
        const bool suits = rows == kTensorRows || takes_tall_tiles(args, biased, facts);
        if (suits && attention_shared_bytes(args) <= limit) {
          return true;
        }
      }
    }
  }
  return false;
}

void choose_tiles(AttentionArgs& args, const Binder& binder, const Attention& op, const DeviceFacts& facts) {
  const bool halves = binder.dtype(op.q) != DType::kF32;
  const auto alike = [&](const View& view) { return binder.dtype(view) == binder.dtype(op.q); };
  args.tensor_cores = halves && facts.compute_major >= 8 && alike(op.k) && alike(op.v) && alike(op.y) &&
                      (!op.bias || (alike(*op.bias) && op.bias->strides.back() == 1));
  if (args.tensor_cores && choose_tensor_tiles(args, op.bias.has_value(), facts)) {
    return;
  }
  args.tensor_cores = false;
  args.stages = 1;
  args.tile_rows = kPlainRows;
  constexpr std::array<std::int64_t, 3> kKeys = {32, 16, 8};
  for (const std::int64_t limit : {kEasyShared, facts.shared_bytes}) {
    for (const std::int64_t keys : kKeys) {
      args.tile_keys = keys;
      if (attention_shared_bytes(args) <= limit) {
        return;
      }
    }
  }
}

/// Decoding has few rows and many keys: the keys are then shared out, so that every multiprocessor reads some.
void choose_splits(AttentionArgs& args, const DeviceFacts& facts) {
  const std::int64_t members = args.flat_group ? 1 : args.group;
  const std::int64_t rows = args.flat_group ? args.group * args.n_q : args.n_q;
  const std::int64_t blocks = args.batch * args.kv_heads * members * ceil_div(rows, args.tile_rows);
  const std::int64_t wanted =
      ceil_div(std::int64_t{2} * std::max(facts.multiprocessors, 1), std::max<std::int64_t>(blocks, 1));
  const std::int64_t possible = args.n_k / kLeastSplitKeys;
  args.splits =
      blocks >= facts.multiprocessors ? 1 : std::clamp<std::int64_t>(std::min(wanted, possible), 1, kMostSplits);
}

} // namespace

AttentionArgs plan_attention(const Binder& binder, const Attention& op, const DeviceFacts& facts) {
  AttentionArgs args;
  args.batch = op.q.dims[0];
  args.kv_heads = op.q.dims[1];
  args.group = op.q.dims[2];
  args.n_q = op.q.dims[3];
  args.n_k = op.k.dims[2];
  args.qk_dim = op.q.dims[4];
  args.v_dim = op.v.dims[3];
  args.q = strided(binder, op.q, true);
  args.k = strided(binder, op.k, false);
  args.v = strided(binder, op.v, false);
  args.y = strided(binder, op.y, true);
  if (op.bias) {
    args.bias = strided(binder, *op.bias, true);
  }
  args.scale = static_cast<float>(op.scale);
  args.masked = op.mask.any();
  args.window = std::min(op.mask.window, args.n_k); // a longer one keeps no more
  args.squared_relu = op.weights == Attention::Weights::kSquaredRelu;
  choose_tiles(args, binder, op, facts);
  args.shared_bytes = attention_shared_bytes(args);
  args.flat_group = args.n_q < std::min(args.tile_rows, kTensorRows);
  choose_splits(args, facts);
  args.partial = reinterpret_cast<float*>(binder.scratch());
  args.workspace = binder.scratch();
  args.workspace_bytes = binder.workspace_bytes();
  return args;
}

} // namespace attnprof::operators::gpu
