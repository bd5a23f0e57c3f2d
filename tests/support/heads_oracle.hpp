// Plain-loop parts of mixers with ordinary heads.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

/// The columns of head h.
Matrix head_of(const Matrix& x, std::size_t head, std::size_t width);

/// What a mixer does with the queries, keys and values of one head of one sequence.
using HeadMix = std::function<Matrix(const Matrix& q, const Matrix& k, const Matrix& v)>;

/// Values averaged under weight(i, j) of query i and key j, normalised over the keys that are seen: all, or those up to
/// the query where causal.
Matrix weighted_means(const Matrix& v, std::size_t queries, bool causal,
                      const std::function<double(std::size_t, std::size_t)>& weight);

/// Largest difference between result "y" of the case and the mixer applied head by head and sequence by sequence to
/// x wq, x wk and x wv, and multiplied by wo.
double difference_by_heads(const Case& run, const HeadMix& mix);

} // namespace attnprof::testing
