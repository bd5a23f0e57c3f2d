#include "tests/support/layer_oracle.hpp"

namespace attnprof::testing {

Matrix layer_norm(const Matrix& x, const std::vector<double>& gamma, const std::vector<double>& beta, double eps) {
  Matrix out = x;
  const auto n = static_cast<double>(x.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    double mean = 0.0;
    double squares = 0.0;
    for (std::size_t j = 0; j < x.columns; ++j) {
      mean += x(i, j) / n;
      squares += x(i, j) * x(i, j) / n;
    }
    for (std::size_t j = 0; j < x.columns; ++j) {
      out(i, j) = (x(i, j) - mean) / std::sqrt(squares - mean * mean + eps) * gamma[j] + beta[j];
    }
  }
  return out;
}

Matrix linear(const Matrix& x, const Matrix& w, const std::vector<double>& b) {
  Matrix out = product(x, w);
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] += b[i % b.size()];
  }
  return out;
}

Matrix mapped(Matrix x, double (*f)(double)) {
  for (double& value : x.values) {
    value = f(value);
  }
  return x;
}

double gelu(double x) {
  return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}
double relu(double x) {
  return x > 0.0 ? x : 0.0;
}
double silu(double x) {
  return x / (1.0 + std::exp(-x));
}

Matrix depthwise(const Matrix& x, std::size_t height, std::size_t width, const Matrix& w, std::size_t kernel,
                 const std::vector<double>& bias) {
  Matrix out(x.rows, x.columns);
  const auto pad = static_cast<std::ptrdiff_t>(kernel / 2);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t c = 0; c < x.columns; ++c) {
      double total = bias[c];
      for (std::size_t t = 0; t < kernel * kernel; ++t) {
        const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i / width + t / kernel) - pad;
        const std::ptrdiff_t column = static_cast<std::ptrdiff_t>(i % width + t % kernel) - pad;
        if (row >= 0 && row < static_cast<std::ptrdiff_t>(height) && column >= 0 &&
            column < static_cast<std::ptrdiff_t>(width)) {
          total += x(static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column), c) *
                   w.values[c * kernel * kernel + t];
        }
      }
      out(i, c) = total;
    }
  }
  return out;
}

} // namespace attnprof::testing
