#include "operators/core/work.hpp"

namespace attnprof::operators {
namespace {

void add_steps(const Steps& steps, Count elements, Work& out) {
  for (const Step& step : steps) {
    const StepTraits& traits = step_traits(step.fn);
    out.vector_flops += elements * traits.flops;
    out.transcendentals += elements * traits.transcendentals;
  }
}

Count batch_of(const View& view, std::size_t inner_rank) {
  Count out = 1;
  for (std::size_t i = 0; i + inner_rank < view.rank(); ++i) {
    out *= view.dims[i];
  }
  return out;
}

Work work(const MatMul& op) {
  const std::int64_t m = op.a.dims.back(1);
  const std::int64_t k = op.a.dims.back();
  const std::int64_t n = op.b.dims.back();
  const Count batch = batch_of(op.c, 2);
  const auto useful = [&](Count all) { return op.useful_entries ? Count(*op.useful_entries) : all; };
  Work out;
  out.macs = batch * m * n * k;
  switch (op.mask_axes) {
  case MatMul::MaskAxes::kNone: out.useful_macs = out.macs; break;
  case MatMul::MaskAxes::kRowsColumns: out.useful_macs = useful(batch * attended_pairs(op.mask, m, n)) * k; break;
  case MatMul::MaskAxes::kRowsInner: out.useful_macs = useful(batch * attended_pairs(op.mask, m, k)) * n; break;
  case MatMul::MaskAxes::kRows: out.useful_macs = useful(batch * m) * n * k; break;
  case MatMul::MaskAxes::kInner: out.useful_macs = useful(batch * k) * m * n; break;
  }
  add_steps(op.epilogue, op.c.elements(), out);
  return out;
}

/// max, subtract, exp, sum, divide: five per entry; the seed of the maximum is -inf, of the sum 0.
Work work(const Softmax& op) {
  const Count entries = op.x.elements();
  return {0, 0, entries * 5, entries};
}

/// Softmax weights, per visited pair: scale, (bias), max, subtract, exp, sum. Per query row and visited key tile after
/// the first: the correction exp(old - new) and its use on the running sum and on the v_dim accumulators. Per row at
/// the end: the reciprocal of the sum and v_dim products. Squared-relu weights, per visited pair: max, square. Per row
/// at the end: v_dim products with the scale.
Work work(const Attention& op) {
  const std::int64_t n_q = op.q.dims[3];
  const std::int64_t n_k = op.k.dims[2];
  const std::int64_t qk_dim = op.q.dims[4];
  const std::int64_t v_dim = op.v.dims[3];
  Count pairs = 0;
  Count corrected_rows = 0;
  Count finished_rows = 0;
  for (std::int64_t row = 0; row < n_q; row += op.tiles.queries) {
    const std::int64_t rows = std::min(op.tiles.queries, n_q - row);
    const KeyRange keys = visited_keys(op.mask, op.tiles, row, rows, n_q, n_k);
    if (keys.begin == keys.end) {
      continue;
    }
    pairs += Count(rows) * (keys.end - keys.begin);
    corrected_rows += Count(rows) * (ceil_div(keys.end - keys.begin, op.tiles.keys) - 1);
    finished_rows += rows;
  }
  const Count batch = batch_of(op.q, 2);
  Work out;
  out.macs = batch * pairs * (Count(qk_dim) + v_dim);
  const Count useful_pairs = op.useful_pairs ? Count(*op.useful_pairs) : batch * attended_pairs(op.mask, n_q, n_k);
  out.useful_macs = useful_pairs * (Count(qk_dim) + v_dim);
  if (op.weights == Attention::Weights::kSquaredRelu) {
    out.vector_flops = batch * (pairs * 2 + finished_rows * v_dim);
    return out;
  }
  out.vector_flops =
      batch * (pairs * (op.bias ? 6 : 5) + corrected_rows * (Count(v_dim) + 3) + finished_rows * (Count(v_dim) + 1));
  out.transcendentals = batch * (pairs + corrected_rows);
  return out;
}

Work work(const Pointwise& op) {
  Work out;
  add_steps(op.steps, op.y.elements(), out);
  return out;
}

/// LayerNorm row of c: mean c + 1, centred c, squares and their sum 2c, variance 1, eps 1, rsqrt 1, scale c, gamma c,
/// beta c. RMSNorm row: squares and sum 2c, mean 1, eps 1, rsqrt 1, scale c, gamma c.
Work work(const LayerNorm& op) {
  const Count columns = op.x.dims.back();
  const Count rows = batch_of(op.x, 1);
  return {0, 0, rows * (op.beta ? columns * 7 + 4 : columns * 4 + 3), rows};
}

/// Sum over outputs of the taps that fall inside [0, size): one axis of a zero-padded convolution.
Count inside_taps(std::int64_t outputs, std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t size) {
  Count out = 0;
  for (std::int64_t tap = 0; tap < kernel; ++tap) {
    // Outputs o with 0 <= o * stride + tap - pad < size.
    const std::int64_t first = std::max<std::int64_t>(0, ceil_div(std::max<std::int64_t>(0, pad - tap), stride));
    const std::int64_t last = size - 1 + pad - tap;
    out += last < 0 ? 0 : std::max<std::int64_t>(0, std::min(outputs, last / stride + 1) - first);
  }
  return out;
}

Work work(const DepthwiseConv2d& op) {
  const std::int64_t kernel = op.w.dims.back();
  Work out;
  out.macs = op.y.elements() * kernel * kernel;
  const Count taps = Count(op.y.dims[0]) * inside_taps(op.y.dims[1], op.w.dims[1], op.stride, op.pad, op.x.dims[1]) *
                     inside_taps(op.y.dims[2], op.w.dims[2], op.stride, op.pad, op.x.dims[2]);
  out.useful_macs = (op.useful_taps ? Count(*op.useful_taps) : taps) * op.y.dims[3];
  add_steps(op.epilogue, op.y.elements(), out);
  return out;
}

Work work(const Conv2d& op) {
  const Count per_tap = Count(op.w.dims[3]) * op.y.dims[3]; // input channels of a group times outputs
  Work out;
  out.macs = Count(op.y.dims[0]) * op.y.dims[1] * op.y.dims[2] * op.w.dims[1] * op.w.dims[2] * per_tap;
  out.useful_macs = Count(op.y.dims[0]) * inside_taps(op.y.dims[1], op.w.dims[1], op.stride, op.pad, op.x.dims[1]) *
                    inside_taps(op.y.dims[2], op.w.dims[2], op.stride, op.pad, op.x.dims[2]) * per_tap;
  add_steps(op.epilogue, op.y.elements(), out);
  return out;
}

/// An add per tap inside the map and a division per output.
Work work(const Pool& op) {
  const Count taps = Count(op.y.dims[0]) * op.y.dims[3] *
                     inside_taps(op.y.dims[1], op.kernel, op.stride, op.pad, op.x.dims[1]) *
                     inside_taps(op.y.dims[2], op.kernel, op.stride, op.pad, op.x.dims[2]);
  return {0, 0, taps + op.y.elements(), 0};
}

/// An add or a comparison per entry, and a division per result of a mean.
Work work(const Reduce& op) {
  return {0, 0, op.x.elements() + (op.kind == Reduce::Kind::kMean ? op.y.elements() : Count(0)), 0};
}

Work work(const ChannelConv1d& op) {
  const std::int64_t kernel = op.w.dims[0];
  return {op.y.elements() * kernel,
          Count(op.y.dims[0]) * inside_taps(op.y.dims[1], kernel, 1, kernel / 2, op.x.dims[1]), 0, 0};
}

/// Each row but the first is the one before plus a row of x.
Work work(const CumSum& op) {
  return {0, 0, op.x.slice(op.x.rank() - 2, 0, op.x.dims.back(1) - 1).elements(), 0};
}

Work work(const Gather& /*op*/) {
  return {};
}

Work work(const Copy& /*op*/) {
  return {};
}

/// Two multiplies and an add or subtract per element.
Work work(const Rope& op) {
  return {0, 0, op.x.elements() * 3, 0};
}

} // namespace

Work work_of(const Primitive& primitive) {
  return std::visit([](const auto& op) { return work(op); }, primitive);
}

} // namespace attnprof::operators
