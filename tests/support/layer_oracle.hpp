// Plain-loop feed-forward networks, norms and depthwise convolutions.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

Matrix layer_norm(const Matrix& x, const std::vector<double>& gamma, const std::vector<double>& beta, double eps);
/// x w + b.
Matrix linear(const Matrix& x, const Matrix& w, const std::vector<double>& b);
Matrix mapped(Matrix x, double (*f)(double));
double gelu(double x);
double relu(double x);
double silu(double x);
/// x [height * width, channels], w [channels, kernel * kernel] in rows of kernel, zero padding to the same size.
Matrix depthwise(const Matrix& x, std::size_t height, std::size_t width, const Matrix& w, std::size_t kernel,
                 const std::vector<double>& bias);

} // namespace attnprof::testing
