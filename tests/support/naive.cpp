#include "tests/support/naive.hpp"

#include "operators/core/plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace attnprof::testing {

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j) {
        out(i, j) += a(i, k) * b(k, j);
      }
    }
  }
  return out;
}

Matrix transposed(const Matrix& a) {
  Matrix out(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) {
      out(j, i) = a(i, j);
    }
  }
  return out;
}

Matrix columns_of(const Matrix& a, std::size_t begin, std::size_t count) {
  Matrix out(a.rows, count);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      out(i, j) = a(i, begin + j);
    }
  }
  return out;
}

Matrix rows_of(const Matrix& a, std::size_t begin, std::size_t count) {
  return transposed(columns_of(transposed(a), begin, count));
}

Matrix sum(const Matrix& a, const Matrix& b) {
  Matrix out = a;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] += b.values.at(i);
  }
  return out;
}

void put_columns(Matrix& into, std::size_t begin, const Matrix& part) {
  for (std::size_t i = 0; i < part.rows; ++i) {
    for (std::size_t j = 0; j < part.columns; ++j) {
      into(i, begin + j) = part(i, j);
    }
  }
}

Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, double scale,
              const std::function<bool(std::size_t, std::size_t)>& visible) {
  Matrix weights(q.rows, k.rows);
  for (std::size_t i = 0; i < q.rows; ++i) {
    double total = 0.0;
    for (std::size_t j = 0; j < k.rows; ++j) {
      double dot = 0.0;
      for (std::size_t d = 0; d < q.columns; ++d) {
        dot += q(i, d) * k(j, d);
      }
      weights(i, j) = visible(i, j) ? std::exp(scale * dot) : 0.0; // small numbers: no shift by the maximum needed
      total += weights(i, j);
    }
    for (std::size_t j = 0; j < k.rows && total > 0.0; ++j) {
      weights(i, j) /= total;
    }
  }
  return product(weights, v);
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
  double out = 0.0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    out = std::max(out, std::abs(a.values[i] - b.values[i]));
  }
  return out;
}

} // namespace attnprof::testing
