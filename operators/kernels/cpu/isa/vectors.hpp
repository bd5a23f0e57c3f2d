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

/// P panels [k][kTileColumns] against R rows, read side by side: one stream keeps too few lines of DRAM in flight. Sums
/// of four vectors or more hide the latency of the additions; fewer are kept `C` times.
template <int R, int P, int C, class T>
ATTNPROF_INLINE void panel_tile(Index k, const float* x, Index x_row, const T* panels, float* out, Index out_row) {
  Vec sums[C][P][R][kTileVectors];
#pragma GCC unroll 4
  for (int u = 0; u < C; ++u) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) {
          sums[u][p][r][v] = zero();
        }
      }
    }
  }
  const auto step = [&](Index kk, Vec(&to)[P][R][kTileVectors]) {
    Vec row[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      row[r] = broadcast(x[r * x_row + kk]);
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        const Vec b = load(panels + (p * k + kk) * kTileColumns + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          to[p][r][v] = fma(row[r], b, to[p][r][v]);
        }
      }
    }
  };
  Index kk = 0;
  for (; kk + C <= k; kk += C) {
#pragma GCC unroll 4
    for (int u = 0; u < C; ++u) {
      step(kk + u, sums[u]);
    }
  }
  for (; kk < k; ++kk) {
    step(kk, sums[0]);
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        Vec sum = sums[0][p][r][v];
#pragma GCC unroll 4
        for (int u = 1; u < C; ++u) {
          sum += sums[u][p][r][v];
        }
        store(out + r * out_row + p * kTileColumns + v * kLanes, sum);
      }
    }
  }
}

/// As many panels at once as the registers of AVX2 hold sums for.
template <int R, class T>
static inline void panels_of_rows(Index k, const float* x, Index x_row, const T* panels, Index count, float* out,
                                  Index out_row) {
  constexpr int kAtOnce = R == 1 ? 4 : R <= 3 ? 2 : 1;
  constexpr int kChains = R == 1 ? 4 : R == 2 ? 2 : 1;
  Index p = 0;
  for (; p + kAtOnce <= count; p += kAtOnce) {
    panel_tile<R, kAtOnce, 1>(k, x, x_row, panels + p * k * kTileColumns, out + p * kTileColumns, out_row);
  }
  for (; p < count; ++p) {
    panel_tile<R, 1, kChains>(k, x, x_row, panels + p * k * kTileColumns, out + p * kTileColumns, out_row);
  }
}

/// Neighbouring panels; rows <= kFewRows. The last panel's padding is computed and dropped by the caller.
template <class T>
static inline void panel_vectors(Index rows, Index k, const float* x, Index x_row, const T* panels, Index count,
                                 float* out, Index out_row) {
  switch (rows) {
  case 1: panels_of_rows<1>(k, x, x_row, panels, count, out, out_row); break;
  case 2: panels_of_rows<2>(k, x, x_row, panels, count, out, out_row); break;
  case 3: panels_of_rows<3>(k, x, x_row, panels, count, out, out_row); break;
  default: panels_of_rows<4>(k, x, x_row, panels, count, out, out_row); break;
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
