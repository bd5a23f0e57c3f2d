#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// Few rows against a large matrix: bound by the bandwidth of the matrix, which is read once, in order, and never
// packed.
namespace attnprof::operators::ATTNPROF_ISA {

/// Rows handled together; more go in several passes over a part of the matrix that is still in the first-level cache.
inline constexpr int kFewRows = 4;

/// out[r][j] = sum over kk of x[r][kk] * b[j * b_row + kk] for R rows and J columns.
template <int R, int J, class T>
ATTNPROF_INLINE void dot_tile(Index k, const float* x, Index x_row, const T* b, Index b_row, float* out,
                              Index out_row) {
  Vec sums[R][J];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      sums[r][j] = zero();
    }
  }
  for (Index kk = 0; kk < k; kk += kLanes) {
    Vec rows[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      rows[r] = load_upto(x + r * x_row + kk, k - kk);
    }
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      const Vec column = load_upto(b + j * b_row + kk, k - kk);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        sums[r][j] = fma(rows[r], column, sums[r][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      out[r * out_row + j] = sum_of(sums[r][j]);
    }
  }
}

template <int R, class T>
static inline void dots_of_rows(Index k, const float* x, Index x_row, const T* b, Index b_row, Index n, float* out,
                                Index out_row) {
  Index j = 0;
  for (; j + 4 <= n; j += 4) {
    dot_tile<R, 4>(k, x, x_row, b + j * b_row, b_row, out + j, out_row);
  }
  for (; j < n; ++j) {
    dot_tile<R, 1>(k, x, x_row, b + j * b_row, b_row, out + j, out_row);
  }
}

/// Products with a matrix whose rows are the columns of the product: out[r][j] = x[r] . b[j].
template <class T>
static inline void dots(Index rows, Index k, const float* x, Index x_row, const T* b, Index b_row, Index n, float* out,
                        Index out_row) {
  Index r = 0;
  for (; r + 2 <= rows; r += 2) {
    dots_of_rows<2>(k, x + r * x_row, x_row, b, b_row, n, out + r * out_row, out_row);
  }
  if (r < rows) {
    dots_of_rows<1>(k, x + r * x_row, x_row, b, b_row, n, out + r * out_row, out_row);
  }
}

/// out[r][0 .. V vectors) (+)= sum over kk of x[r][kk] * b[kk * b_k + 0 .. V vectors); the last vector has `last`
/// lanes.
template <int R, int V, class T>
ATTNPROF_INLINE void mix_tile(bool add, Index k, const float* x, Index x_row, const T* b, Index b_k, float* out,
                              Index out_row, Index last) {
  Vec sums[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      sums[r][v] = add ? load_upto(out + r * out_row + v * kLanes, v == V - 1 ? last : kLanes) : zero();
    }
  }
  for (Index kk = 0; kk < k; ++kk) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      const Vec row = load_upto(b + kk * b_k + v * kLanes, v == V - 1 ? last : kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        sums[r][v] = fma(broadcast(x[r * x_row + kk]), row, sums[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      store_upto(out + r * out_row + v * kLanes, sums[r][v], v == V - 1 ? last : kLanes);
    }
  }
}

template <int R, int V, class T>
ATTNPROF_INLINE void mix_strips(bool add, Index k, const float* x, Index x_row, const T* b, Index b_k, Index n,
                                float* out, Index out_row) {
  Index j = 0;
  for (; j + V * kLanes <= n; j += V * kLanes) {
    mix_tile<R, V>(add, k, x, x_row, b + j, b_k, out + j, out_row, kLanes);
  }
  for (; j < n; j += kLanes) {
    mix_tile<R, 1>(add, k, x, x_row, b + j, b_k, out + j, out_row, least(kLanes, n - j));
  }
}

/// Products with a matrix by its rows: out[r] (+)= sum over kk of x[r][kk] * b[kk].
template <class T>
static inline void mixes(bool add, Index rows, Index k, const float* x, Index x_row, const T* b, Index b_k, Index n,
                         float* out, Index out_row) {
  Index r = 0;
  for (; r + 2 <= rows; r += 2) {
    mix_strips<2, 4>(add, k, x + r * x_row, x_row, b, b_k, n, out + r * out_row, out_row);
  }
  if (r < rows) {
    mix_strips<1, 8>(add, k, x + r * x_row, x_row, b, b_k, n, out + r * out_row, out_row);
  }
}

/// One panel [k][kTileColumns] against R rows. Several sums per output hide the latency of the additions.
template <int R, class T>
ATTNPROF_INLINE void panel_vector(Index k, const float* x, Index x_row, const T* panel, float* out, Index out_row) {
  constexpr int kChains = R == 1 ? 4 : R == 2 ? 2 : 1;
  Vec sums[kChains][R][kTileVectors];
#pragma GCC unroll 4
  for (int u = 0; u < kChains; ++u) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        sums[u][r][v] = zero();
      }
    }
  }
  Index kk = 0;
  for (; kk + kChains <= k; kk += kChains) {
#pragma GCC unroll 4
    for (int u = 0; u < kChains; ++u) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        const Vec row = load(panel + (kk + u) * kTileColumns + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          sums[u][r][v] = fma(broadcast(x[r * x_row + kk + u]), row, sums[u][r][v]);
        }
      }
    }
  }
  for (; kk < k; ++kk) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) {
      const Vec row = load(panel + kk * kTileColumns + v * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        sums[0][r][v] = fma(broadcast(x[r * x_row + kk]), row, sums[0][r][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) {
      Vec sum = sums[0][r][v];
#pragma GCC unroll 4
      for (int u = 1; u < kChains; ++u) {
        sum += sums[u][r][v];
      }
      store(out + r * out_row + v * kLanes, sum);
    }
  }
}

/// rows <= kFewRows; the panel's padding is computed and dropped by the caller.
template <class T>
static inline void panel_vectors(Index rows, Index k, const float* x, Index x_row, const T* panel, float* out,
                                 Index out_row) {
  switch (rows) {
  case 1: panel_vector<1>(k, x, x_row, panel, out, out_row); break;
  case 2: panel_vector<2>(k, x, x_row, panel, out, out_row); break;
  case 3: panel_vector<3>(k, x, x_row, panel, out, out_row); break;
  default: panel_vector<4>(k, x, x_row, panel, out, out_row); break;
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
