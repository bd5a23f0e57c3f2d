// Mathematics written a second time, without the op list: the oracle of the variants. Matrix algebra is Eigen's, so
// that none of it comes from this project.
#pragma once
#include "operators/exec/reference.hpp"
#include "operators/exec/verify.hpp"
#include "operators/workload.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace attnprof::testing {

/// A row-major matrix.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c, 0.0) {}
  double& operator()(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

Matrix product(const Matrix& a, const Matrix& b);
Matrix transposed(const Matrix& a);
Matrix columns_of(const Matrix& a, std::size_t begin, std::size_t count);
Matrix rows_of(const Matrix& a, std::size_t begin, std::size_t count);
Matrix sum(const Matrix& a, const Matrix& b);
void put_columns(Matrix& into, std::size_t begin, const Matrix& part);

/// softmax(scale * q kᵀ) v, where visible(i, j) says whether query i sees key j; rows that see nothing are zero.
Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, double scale,
              const std::function<bool(std::size_t, std::size_t)>& visible);
/// Query i of n_q sees key j of n_k when j <= i + n_k - n_q.
std::function<bool(std::size_t, std::size_t)> causal_mask(std::size_t n_q, std::size_t n_k);
std::function<bool(std::size_t, std::size_t)> no_mask();

/// A workload run by the reference loops with its own random tensors, looked up by name.
class Case {
 public:
  explicit Case(const std::string& id, std::string_view plan = "eager");
  [[nodiscard]] const operators::Config& config() const { return config_; }
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return config_.integer(name); }
  /// A tensor as a matrix [all but the last dimension, last]; of one batch entry where `batch` is given.
  [[nodiscard]] Matrix given(const std::string& name) const;
  [[nodiscard]] Matrix result(const std::string& name) const;
  [[nodiscard]] std::vector<double> vector(const std::string& name) const { return given(name).values; }
  void set(const std::string& name, const Matrix& values);
  void run();

 private:
  [[nodiscard]] Matrix matrix(operators::TensorId id, const std::vector<double>& values) const;
  operators::Config config_;
  operators::Graph launches_;
  operators::TensorValues given_;
  operators::TensorValues results_;
};

/// Largest absolute difference; infinite where the sizes differ.
double difference(const Matrix& a, const Matrix& b);

} // namespace attnprof::testing
