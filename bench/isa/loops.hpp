// Row operations as Eigen expressions and as plain loops, compiled once per instruction set.
#pragma once
#include <cstdint>

namespace attnprof::bench {

using Index = std::int64_t;

/// Absent operations are null. Shapes as in bench/peer.hpp.
struct RowLoops {
  const char* isa;
  void (*softmax)(const float* x, float* y, Index rows, Index columns);
  void (*layernorm)(const float* x, const float* gamma, const float* beta, float* y, Index rows, Index columns);
  void (*rmsnorm)(const float* x, const float* gamma, float* y, Index rows, Index columns);
  void (*gelu)(const float* x, float* y, Index n);
  void (*silu)(const float* x, float* y, Index n);
  void (*add)(const float* x, const float* z, float* y, Index n);
  void (*head_split)(const float* x, float* y, Index rows, Index heads, Index width);
  void (*head_merge)(const float* x, float* y, Index rows, Index heads, Index width);
  void (*transpose)(const float* x, float* y, Index rows, Index columns);
  void (*depthwise)(const float* x, const float* taps, const float* bias, float* y, Index images, Index side,
                    Index channels, Index kernel); ///< taps [kernel * kernel][channels]
};

/// Products of Eigen: rows of a and b may lie apart.
struct EigenProducts {
  void (*product)(const float* a, Index a_row, const float* b, Index b_row, bool transposed, float scale, float* y,
                  Index y_row, Index m, Index n, Index k);
};

} // namespace attnprof::bench
