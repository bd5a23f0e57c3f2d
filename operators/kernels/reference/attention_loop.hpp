#pragma once
#include "operators/kernels/reference/loops.hpp"

namespace attnprof::operators::reference {

/// One tile of query rows, as costed by work_of(Attention): the online softmax (Dao et al. 2022, algorithm 1), or the
/// plain sum of squared-relu weights.
template <class Memory>
class AttentionTile {
 public:
  using S = typename Memory::Scalar;

  /// `at`: where q, k, v, y begin for this batch and head; `bias`: where the bias begins.
  AttentionTile(const Attention& op, Memory& memory, const std::array<std::int64_t, 4>& at, std::int64_t bias,
                std::int64_t first_row, std::int64_t rows)
      : op_(op), memory_(memory), at_(at), bias_(bias), first_row_(first_row), rows_(rows), v_dim_(op.v.dims[3]) {
    load_queries();
  }

  void run() {
    const KeyRange keys = visited_keys(op_.mask, op_.tiles, first_row_, rows_, op_.q.dims[3], op_.k.dims[2]);
    for (std::int64_t begin = keys.begin; begin < keys.end; begin += op_.tiles.keys) {
      const std::int64_t count = std::min(op_.tiles.keys, keys.end - begin);
      for (std::int64_t r = 0; r < rows_; ++r) {
        if (squares_) {
          add_squares(r, begin, count);
        } else {
          visit(r, begin, count, begin == keys.begin);
        }
      }
    }
    finish(keys.begin != keys.end);
  }

 private:
  void load_queries() {
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t d = 0; d < op_.q.dims[4]; ++d) {
        queries_.push_back(
            memory_.load(op_.q.tensor, at_[0] + (first_row_ + r) * op_.q.strides[3] + d * op_.q.strides[4]));
      }
    }
    top_.assign(static_cast<std::size_t>(rows_), S(kMinusInfinity));
    sum_.assign(static_cast<std::size_t>(rows_), S(0.0));
    mixed_.assign(static_cast<std::size_t>(rows_ * v_dim_), S(0.0));
  }

  S dot(std::int64_t r, std::int64_t key) {
    S sum(0.0);
    for (std::int64_t d = 0; d < op_.q.dims[4]; ++d) {
      sum = mul_add(queries_[static_cast<std::size_t>(r * op_.q.dims[4] + d)],
                    memory_.load(op_.k.tensor, at_[1] + key * op_.k.strides[2] + d * op_.k.strides[3]), sum);
    }
    return sum;
  }

  [[nodiscard]] bool attends(std::int64_t r, std::int64_t key) const {
    return op_.mask.attends(first_row_ + r, key, op_.q.dims[3], op_.k.dims[2]);
  }

  S score(std::int64_t r, std::int64_t key) {
    S sum = dot(r, key) * S(op_.scale);
    if (op_.bias) {
      sum = sum + memory_.load(op_.bias->tensor,
                               bias_ + (first_row_ + r) * op_.bias->strides[3] + key * op_.bias->strides[4]);
    }
    return attends(r, key) ? sum : with_value(sum, kMinusInfinity);
  }

  void add_values(std::int64_t r, std::int64_t key, const S& weight) {
    for (std::int64_t d = 0; d < v_dim_; ++d) {
      S& mixed = mixed_[static_cast<std::size_t>(r * v_dim_ + d)];
      mixed =
          mul_add(weight, memory_.load(op_.v.tensor, at_[2] + key * op_.v.strides[2] + d * op_.v.strides[3]), mixed);
    }
  }

  void add_squares(std::int64_t r, std::int64_t begin, std::int64_t count) {
    for (std::int64_t key = begin; key < begin + count; ++key) {
      const S positive = maximum(dot(r, key), S(0.0));
      const S weight = positive * positive;
      add_values(r, key, attends(r, key) ? weight : with_value(weight, 0.0));
    }
  }

  void visit(std::int64_t r, std::int64_t begin, std::int64_t count, bool first) {
    const auto row = static_cast<std::size_t>(r);
    std::vector<S> scores;
    S top = top_[row];
    for (std::int64_t j = 0; j < count; ++j) {
      scores.push_back(score(r, begin + j));
      top = maximum(top, scores.back());
    }
    const S shift = is_masked(top) ? with_value(top, 0.0) : top;
    if (!first) {
      const S correction = exp_of(top_[row] - shift);
      sum_[row] = sum_[row] * correction;
      for (std::int64_t d = 0; d < v_dim_; ++d) {
        S& mixed = mixed_[static_cast<std::size_t>(r * v_dim_ + d)];
        mixed = mixed * correction;
      }
    }
    top_[row] = top;
    for (std::int64_t j = 0; j < count; ++j) {
      const S weight = exp_of(scores[static_cast<std::size_t>(j)] - shift);
      sum_[row] = sum_[row] + weight;
      add_values(r, begin + j, weight);
    }
  }

  /// Rows that attend to nothing are zero.
  void finish(bool visited) {
    for (std::int64_t r = 0; r < rows_; ++r) {
      const S factor = visited ? factor_of(sum_[static_cast<std::size_t>(r)]) : S(0.0);
      for (std::int64_t d = 0; d < v_dim_; ++d) {
        const S& mixed = mixed_[static_cast<std::size_t>(r * v_dim_ + d)];
        memory_.store(op_.y.tensor, at_[3] + (first_row_ + r) * op_.y.strides[3] + d * op_.y.strides[4],
                      visited ? mixed * factor : mixed);
      }
    }
  }

  S factor_of(const S& sum) {
    return squares_ ? S(op_.scale) : S(1.0) / (value_of(sum) == 0.0 ? with_value(sum, 1.0) : sum);
  }

  const Attention& op_;
  bool squares_ = op_.weights == Attention::Weights::kSquaredRelu;
  Memory& memory_;
  std::array<std::int64_t, 4> at_;
  std::int64_t bias_;
  std::int64_t first_row_;
  std::int64_t rows_;
  std::int64_t v_dim_;
  std::vector<S> queries_, top_, sum_, mixed_;
};

template <class Memory>
void run_loop(const Attention& op, Memory& memory) {
  // Keys and values shared by a group of query heads: a dimension of stride 0 in place of the group.
  const View keys = op.k.broadcast(2, op.q.dims[2]);
  const View values = op.v.broadcast(2, op.q.dims[2]);
  const View bias = op.bias.value_or(op.q);
  for_each_batch<5>({&op.q, &keys, &values, &op.y, &bias}, 2, [&](const std::array<std::int64_t, 5>& at) {
    for (std::int64_t row = 0; row < op.q.dims[3]; row += op.tiles.queries) {
      const std::int64_t rows = std::min(op.tiles.queries, op.q.dims[3] - row);
      AttentionTile<Memory>(op, memory, {at[0], at[1], at[2], at[3]}, at[4], row, rows).run();
    }
  });
}

} // namespace attnprof::operators::reference
