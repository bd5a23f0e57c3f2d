#pragma once
#include "operators/kernels/reference/scalar.hpp"
#include "operators/kernels/reference/walk.hpp"

#include <vector>

// One naive loop per primitive, templated on a Memory:
//   using Scalar; Scalar load(TensorId, address); void store(TensorId, address, const Scalar&)
// Addresses are in elements. The loops read nothing outside their operands and compute nothing that work_of does not
// count.
namespace attnprof::operators::reference {

/// Applies steps to the element at `index` of a row-major walk over `y`; operands are read through their own strides.
template <class Memory>
typename Memory::Scalar apply_steps(const Steps& steps, const View& y, const Extents& index, typename Memory::Scalar x,
                                    Memory& memory) {
  using S = typename Memory::Scalar;
  for (const Step& step : steps) {
    S operand(0.0);
    if (step.operand) {
      std::int64_t address = step.operand->offset;
      for (std::size_t d = 0; d < index.size(); ++d) {
        address += index[d] * step.operand->strides[d];
      }
      operand = memory.load(step.operand->tensor, address);
    }
    const bool attended =
        !is_mask(step.fn) || step.mask.attends(index.back(1), index.back(), y.dims.back(1), y.dims.back());
    x = apply_step(step, x, operand, attended);
  }
  return x;
}

/// Calls visit(index, address) for every element of a view.
template <class Visit>
void for_each_index(const View& view, Visit&& visit) {
  Extents index;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    index.push_back(0);
  }
  for_each_address(view, [&](std::int64_t address) {
    visit(static_cast<const Extents&>(index), address);
    for (std::size_t d = view.rank(); d > 0 && ++index[d - 1] == view.dims[d - 1]; --d) {
      index[d - 1] = 0;
    }
  });
}

inline std::int64_t address_at(const View& view, const Extents& index) {
  std::int64_t address = view.offset;
  for (std::size_t d = 0; d < index.size(); ++d) {
    address += index[d] * view.strides[d];
  }
  return address;
}

template <class Memory>
void run_loop(const MatMul& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::size_t rank = op.c.rank();
  for_each_index(op.c, [&](const Extents& index, std::int64_t address) {
    Extents row = index;
    row[rank - 1] = 0;
    Extents column = index;
    column[rank - 2] = 0;
    const std::int64_t a = address_at(op.a, row);
    const std::int64_t b = address_at(op.b, column);
    S sum(0.0);
    for (std::int64_t k = 0; k < op.a.dims.back(); ++k) {
      sum = mul_add(memory.load(op.a.tensor, a + k * op.a.strides.back()),
                    memory.load(op.b.tensor, b + k * op.b.strides.back(1)), sum);
    }
    memory.store(op.c.tensor, address, apply_steps(op.epilogue, op.c, index, sum, memory));
  });
}

/// exp(x - maximum) of one row; a row without any attended entry gives zeros, and its sum 0 divides as 1.
template <class Memory>
void run_loop(const Softmax& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::int64_t columns = op.x.dims.back();
  for_each_batch<2>({&op.x, &op.y}, 1, [&](const std::array<std::int64_t, 2>& at) {
    std::vector<S> row;
    S top(kMinusInfinity);
    for (std::int64_t j = 0; j < columns; ++j) {
      row.push_back(memory.load(op.x.tensor, at[0] + j * op.x.strides.back()));
      top = maximum(top, row.back());
    }
    const S shift = is_masked(top) ? with_value(top, 0.0) : top;
    S sum(0.0);
    for (S& x : row) {
      x = exp_of(x - shift);
      sum = sum + x;
    }
    const S divisor = value_of(sum) == 0.0 ? with_value(sum, 1.0) : sum;
    for (std::int64_t j = 0; j < columns; ++j) {
      memory.store(op.y.tensor, at[1] + j * op.y.strides.back(), row[static_cast<std::size_t>(j)] / divisor);
    }
  });
}

template <class Memory>
void run_loop(const Pointwise& op, Memory& memory) {
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    const auto x = memory.load(op.x.tensor, address_at(op.x, index));
    memory.store(op.y.tensor, address, apply_steps(op.steps, op.y, index, x, memory));
  });
}

template <class Memory>
void run_loop(const LayerNorm& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::int64_t columns = op.x.dims.back();
  const S count(static_cast<double>(columns));
  for_each_batch<2>({&op.x, &op.y}, 1, [&](const std::array<std::int64_t, 2>& at) {
    std::vector<S> row;
    S sum(0.0);
    for (std::int64_t j = 0; j < columns; ++j) {
      row.push_back(memory.load(op.x.tensor, at[0] + j * op.x.strides.back()));
      if (op.beta) {
        sum = sum + row.back();
      }
    }
    if (op.beta) { // RMSNorm does not centre
      const S mean = sum / count;
      for (S& x : row) {
        x = x - mean;
      }
    }
    S squares(0.0);
    for (const S& x : row) {
      squares = squares + x * x;
    }
    const S factor = rsqrt_of(squares / count + S(op.eps));
    for (std::int64_t j = 0; j < columns; ++j) {
      S y = row[static_cast<std::size_t>(j)] * factor;
      y = y * memory.load(op.gamma.tensor, op.gamma.offset + j * op.gamma.strides.back());
      if (op.beta) {
        y = y + memory.load(op.beta->tensor, op.beta->offset + j * op.beta->strides.back());
      }
      memory.store(op.y.tensor, at[1] + j * op.y.strides.back(), y);
    }
  });
}

/// Taps on the padding are multiplied by zero like a padded kernel does, so all are counted and every weight is read.
template <class Memory>
void run_loop(const DepthwiseConv2d& op, Memory& memory) {
  using S = typename Memory::Scalar;
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    S sum(0.0);
    for (std::int64_t u = 0; u < op.w.dims[1]; ++u) {
      for (std::int64_t v = 0; v < op.w.dims[2]; ++v) {
        const std::int64_t row = index[1] * op.stride + u - op.pad;
        const std::int64_t column = index[2] * op.stride + v - op.pad;
        const bool inside = row >= 0 && row < op.x.dims[1] && column >= 0 && column < op.x.dims[2];
        const S x = inside ? memory.load(op.x.tensor, address_at(op.x, {index[0], row, column, index[3]})) : S(0.0);
        sum = mul_add(x, memory.load(op.w.tensor, address_at(op.w, {index[3], u, v})), sum);
      }
    }
    memory.store(op.y.tensor, address, apply_steps(op.epilogue, op.y, index, sum, memory));
  });
}

/// Like the depthwise loop: taps on the padding multiply zeros.
template <class Memory>
void run_loop(const Conv2d& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::int64_t group_outputs = op.y.dims[3] / op.groups;
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    const std::int64_t first_channel = index[3] / group_outputs * op.w.dims[3];
    S sum(0.0);
    for (std::int64_t tap = 0; tap < op.w.dims[1] * op.w.dims[2]; ++tap) {
      const std::int64_t u = tap / op.w.dims[2];
      const std::int64_t v = tap % op.w.dims[2];
      const std::int64_t row = index[1] * op.stride + u - op.pad;
      const std::int64_t column = index[2] * op.stride + v - op.pad;
      const bool inside = row >= 0 && row < op.x.dims[1] && column >= 0 && column < op.x.dims[2];
      for (std::int64_t c = 0; c < op.w.dims[3]; ++c) {
        const S x =
            inside ? memory.load(op.x.tensor, address_at(op.x, {index[0], row, column, first_channel + c})) : S(0.0);
        sum = mul_add(x, memory.load(op.w.tensor, address_at(op.w, {index[3], u, v, c})), sum);
      }
    }
    memory.store(op.y.tensor, address, apply_steps(op.epilogue, op.y, index, sum, memory));
  });
}

template <class Memory>
void run_loop(const Pool& op, Memory& memory) {
  using S = typename Memory::Scalar;
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    S sum(0.0);
    int taps = 0;
    for (std::int64_t tap = 0; tap < op.kernel * op.kernel; ++tap) {
      const std::int64_t row = index[1] * op.stride + tap / op.kernel - op.pad;
      const std::int64_t column = index[2] * op.stride + tap % op.kernel - op.pad;
      if (row >= 0 && row < op.x.dims[1] && column >= 0 && column < op.x.dims[2]) {
        sum = sum + memory.load(op.x.tensor, address_at(op.x, {index[0], row, column, index[3]}));
        ++taps;
      }
    }
    memory.store(op.y.tensor, address, sum / S(taps));
  });
}

template <class Memory>
void run_loop(const Reduce& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const View columns = op.x.transpose(op.x.rank() - 2, op.x.rank() - 1);
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    Extents first = index;
    first.push_back(0);
    const std::int64_t at = address_at(columns, first);
    const bool is_max = op.kind == Reduce::Kind::kMax;
    S total(is_max ? kMinusInfinity : 0.0);
    for (std::int64_t i = 0; i < columns.dims.back(); ++i) {
      const S x = memory.load(op.x.tensor, at + i * columns.strides.back());
      total = is_max ? maximum(total, x) : total + x;
    }
    const bool is_mean = op.kind == Reduce::Kind::kMean;
    memory.store(op.y.tensor, address, is_mean ? total / S(static_cast<double>(columns.dims.back())) : total);
  });
}

template <class Memory>
void run_loop(const ChannelConv1d& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::int64_t kernel = op.w.dims[0];
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    S sum(0.0);
    for (std::int64_t u = 0; u < kernel; ++u) {
      const std::int64_t channel = index[1] + u - kernel / 2;
      const bool inside = channel >= 0 && channel < op.x.dims[1];
      const S x = inside ? memory.load(op.x.tensor, address_at(op.x, {index[0], channel})) : S(0.0);
      sum = mul_add(x, memory.load(op.w.tensor, op.w.offset + u * op.w.strides[0]), sum);
    }
    memory.store(op.y.tensor, address, sum);
  });
}

template <class Memory>
void run_loop(const CumSum& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::int64_t groups = op.x.dims.back(1);
  for_each_batch<2>({&op.x, &op.y}, 2, [&](const std::array<std::int64_t, 2>& at) {
    for (std::int64_t r = 0; r < op.x.dims.back(); ++r) {
      S sum(0.0);
      for (std::int64_t g = 0; g < groups; ++g) {
        memory.store(op.y.tensor, at[1] + g * op.y.strides.back(1) + r * op.y.strides.back(), sum);
        if (g + 1 < groups) {
          sum = sum + memory.load(op.x.tensor, at[0] + g * op.x.strides.back(1) + r * op.x.strides.back());
        }
      }
    }
  });
}

template <class Memory>
void run_loop(const Gather& op, Memory& memory) {
  using S = typename Memory::Scalar;
  const std::size_t row = op.y.rank() - 2;
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    const double from = value_of(memory.load(op.index.tensor, op.index.offset + index[row] * op.index.strides[0]));
    Extents source = index;
    source[row] = static_cast<std::int64_t>(from);
    memory.store(op.y.tensor, address, from < 0.0 ? S(0.0) : memory.load(op.x.tensor, address_at(op.x, source)));
  });
}

template <class Memory>
void run_loop(const Copy& op, Memory& memory) {
  for_each_index(op.y, [&](const Extents& index, std::int64_t address) {
    memory.store(op.y.tensor, address, memory.load(op.x.tensor, address_at(op.x, index)));
  });
}

template <class Memory>
void run_loop(const Rope& op, Memory& memory) {
  const std::int64_t half = op.x.dims.back() / 2;
  for_each_batch<2>({&op.x, &op.y}, 2, [&](const std::array<std::int64_t, 2>& at) {
    for (std::int64_t t = 0; t < op.x.dims.back(1); ++t) {
      for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t x = at[0] + t * op.x.strides.back(1) + i * op.x.strides.back();
        const std::int64_t y = at[1] + t * op.y.strides.back(1) + i * op.y.strides.back();
        const std::int64_t angle = op.table.offset + t * op.table.strides[0] + i * op.table.strides[1];
        const auto first = memory.load(op.x.tensor, x);
        const auto second = memory.load(op.x.tensor, x + half * op.x.strides.back());
        const auto cosine = memory.load(op.table.tensor, angle);
        const auto sine = memory.load(op.table.tensor, angle + half * op.table.strides[1]);
        memory.store(op.y.tensor, y, first * cosine - second * sine);
        memory.store(op.y.tensor, y + half * op.y.strides.back(), second * cosine + first * sine);
      }
    }
  });
}

} // namespace attnprof::operators::reference
