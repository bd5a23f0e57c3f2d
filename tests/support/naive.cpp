#include "tests/support/naive.hpp"

#include "operators/core/plan.hpp"

#include <Eigen/Core>
#include <limits>
#include <stdexcept>

namespace attnprof::testing {

namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Index index(std::size_t i) {
  return static_cast<Eigen::Index>(i);
}
Eigen::Map<const Dense> dense(const Matrix& a) {
  return {a.values.data(), index(a.rows), index(a.columns)};
}
Eigen::Map<Dense> dense(Matrix& a) {
  return {a.values.data(), index(a.rows), index(a.columns)};
}
template <class Expression>
Matrix matrix_of(const Eigen::MatrixBase<Expression>& a) {
  Matrix out(static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(a.cols()));
  dense(out) = a;
  return out;
}

} // namespace

Matrix product(const Matrix& a, const Matrix& b) {
  return matrix_of(dense(a) * dense(b));
}

Matrix transposed(const Matrix& a) {
  return matrix_of(dense(a).transpose());
}

Matrix columns_of(const Matrix& a, std::size_t begin, std::size_t count) {
  return matrix_of(dense(a).middleCols(index(begin), index(count)));
}

Matrix rows_of(const Matrix& a, std::size_t begin, std::size_t count) {
  return matrix_of(dense(a).middleRows(index(begin), index(count)));
}

Matrix sum(const Matrix& a, const Matrix& b) {
  return matrix_of(dense(a) + dense(b));
}

void put_columns(Matrix& into, std::size_t begin, const Matrix& part) {
  dense(into).middleCols(index(begin), index(part.columns)) = dense(part);
}

Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, double scale,
              const std::function<bool(std::size_t, std::size_t)>& visible) {
  // Small numbers: no shift by the maximum needed.
  Dense weights = (scale * dense(q) * dense(k).transpose()).array().exp();
  for (std::size_t i = 0; i < q.rows; ++i) {
    for (std::size_t j = 0; j < k.rows; ++j) {
      weights(index(i), index(j)) *= visible(i, j) ? 1.0 : 0.0;
    }
    const double total = weights.row(index(i)).sum();
    weights.row(index(i)) /= total > 0.0 ? total : 1.0;
  }
  return matrix_of(weights * dense(v));
}

std::function<bool(std::size_t, std::size_t)> causal_mask(std::size_t n_q, std::size_t n_k) {
  return [=](std::size_t i, std::size_t j) { return j + n_q <= i + n_k; };
}

std::function<bool(std::size_t, std::size_t)> no_mask() {
  return [](std::size_t, std::size_t) { return true; };
}

Case::Case(const std::string& id, std::string_view plan)
    : config_(operators::resolve(operators::parse_case_id(id))),
      launches_(operators::plan_launches(operators::build(config_), plan)),
      given_(operators::reference_inputs(launches_, 11)) {
  run();
}

void Case::run() {
  results_ = operators::run_reference(launches_, given_);
}

Matrix Case::matrix(operators::TensorId id, const std::vector<double>& values) const {
  Matrix out;
  out.columns = static_cast<std::size_t>(launches_.tensor(id).dims.back());
  out.rows = values.size() / out.columns;
  out.values = values;
  return out;
}

Matrix Case::given(const std::string& name) const {
  const operators::TensorId id = launches_.find(name);
  if (id < 0) {
    throw std::out_of_range("no tensor is called " + name);
  }
  return matrix(id, given_.at(id));
}

Matrix Case::result(const std::string& name) const {
  const operators::TensorId id = launches_.find(name);
  return matrix(id, results_.at(id));
}

void Case::set(const std::string& name, const Matrix& values) {
  given_.at(launches_.find(name)) = values.values;
  run();
}

double difference(const Matrix& a, const Matrix& b) {
  if (a.values.size() != b.values.size()) {
    return std::numeric_limits<double>::infinity();
  }
  const auto size = index(a.values.size());
  const Eigen::Map<const Eigen::ArrayXd> left(a.values.data(), size);
  const Eigen::Map<const Eigen::ArrayXd> right(b.values.data(), size);
  // A NaN on either side must not compare as equal.
  return size == 0 ? 0.0 : (left - right).abs().maxCoeff<Eigen::PropagateNaN>();
}

} // namespace attnprof::testing
