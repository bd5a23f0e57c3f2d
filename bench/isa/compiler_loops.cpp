// What a compiler makes of plain loops; compiled with -O3 -ffast-math, so that it may call vector mathematics.
#include "bench/isa/loops.hpp"

#include <math.h> // <cmath> hides the functions that have vector forms

namespace attnprof::bench::ATTNPROF_ISA {
namespace {

void softmax(const float* x, float* y, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, x += columns, y += columns) {
    float top = x[0];
    for (Index i = 1; i < columns; ++i) {
      top = x[i] > top ? x[i] : top;
    }
    float sum = 0.0F;
    for (Index i = 0; i < columns; ++i) {
      y[i] = expf(x[i] - top);
      sum += y[i];
    }
    const float factor = 1.0F / sum;
    for (Index i = 0; i < columns; ++i) {
      y[i] *= factor;
    }
  }
}

void layernorm(const float* x, const float* gamma, const float* beta, float* y, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, x += columns, y += columns) {
    float sum = 0.0F;
    for (Index i = 0; i < columns; ++i) {
      sum += x[i];
    }
    const float mean = sum / static_cast<float>(columns);
    float squares = 0.0F;
    for (Index i = 0; i < columns; ++i) {
      squares += (x[i] - mean) * (x[i] - mean);
    }
    const float scale = 1.0F / sqrtf(squares / static_cast<float>(columns) + 1e-5F);
    for (Index i = 0; i < columns; ++i) {
      y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
    }
  }
}

void rmsnorm(const float* x, const float* gamma, float* y, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, x += columns, y += columns) {
    float squares = 0.0F;
    for (Index i = 0; i < columns; ++i) {
      squares += x[i] * x[i];
    }
    const float scale = 1.0F / sqrtf(squares / static_cast<float>(columns) + 1e-5F);
    for (Index i = 0; i < columns; ++i) {
      y[i] = x[i] * scale * gamma[i];
    }
  }
}

void gelu(const float* __restrict x, float* __restrict y, Index n) {
  for (Index i = 0; i < n; ++i) {
    y[i] = 0.5F * x[i] * (1.0F + erff(x[i] * 0.70710678F));
  }
}
void silu(const float* __restrict x, float* __restrict y, Index n) {
  for (Index i = 0; i < n; ++i) {
    y[i] = x[i] / (1.0F + expf(-x[i]));
  }
}
void add(const float* __restrict x, const float* __restrict z, float* __restrict y, Index n) {
  for (Index i = 0; i < n; ++i) {
    y[i] = x[i] + z[i];
  }
}

void head_split(const float* __restrict x, float* __restrict y, Index rows, Index heads, Index width) {
  for (Index h = 0; h < heads; ++h) {
    for (Index r = 0; r < rows; ++r) {
      for (Index i = 0; i < width; ++i) {
        y[(h * rows + r) * width + i] = x[(r * heads + h) * width + i];
      }
    }
  }
}
void head_merge(const float* __restrict x, float* __restrict y, Index rows, Index heads, Index width) {
  for (Index r = 0; r < rows; ++r) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < width; ++i) {
        y[(r * heads + h) * width + i] = x[(h * rows + r) * width + i];
      }
    }
  }
}
void transpose(const float* __restrict x, float* __restrict y, Index rows, Index columns) {
  for (Index c = 0; c < columns; ++c) {
    for (Index r = 0; r < rows; ++r) {
      y[c * rows + r] = x[r * columns + c];
    }
  }
}

void depthwise(const float* __restrict x, const float* __restrict taps, const float* __restrict bias,
               float* __restrict y, Index images, Index side, Index channels, Index kernel) {
  const Index pad = kernel / 2;
  for (Index flat = 0; flat < images * side * side; ++flat) {
    const Index image = flat / (side * side);
    const Index row = flat / side % side;
    const Index column = flat % side;
    float* out = y + flat * channels;
    for (Index c = 0; c < channels; ++c) {
      out[c] = bias[c];
    }
    for (Index i = 0; i < kernel * kernel; ++i) {
      const Index from_row = row + i / kernel - pad;
      const Index from_column = column + i % kernel - pad;
      if (from_row < 0 || from_row >= side || from_column < 0 || from_column >= side) {
        continue;
      }
      const float* from = x + ((image * side + from_row) * side + from_column) * channels;
      const float* tap = taps + i * channels;
      for (Index c = 0; c < channels; ++c) {
        out[c] += from[c] * tap[c];
      }
    }
  }
}

#define ATTNPROF_NAME_OF(isa) #isa
#define ATTNPROF_NAME(isa) ATTNPROF_NAME_OF(isa)
constexpr RowLoops kLoops{ATTNPROF_NAME(ATTNPROF_ISA),
                          softmax,
                          layernorm,
                          rmsnorm,
                          gelu,
                          silu,
                          add,
                          head_split,
                          head_merge,
                          transpose,
                          depthwise};

} // namespace

const RowLoops& compiler_loops();
const RowLoops& compiler_loops() {
  return kLoops;
}

} // namespace attnprof::bench::ATTNPROF_ISA
