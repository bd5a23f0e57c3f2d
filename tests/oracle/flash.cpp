#include "tests/support/catch.hpp"
#include "tests/support/gated_unit_oracle.hpp"

#include <algorithm>

using namespace attnprof::testing;

namespace {

/// Local squared-relu attention plus the linear term, chunk by chunk without any padding.
Matrix mixed_chunk(const Case& run, const GatedParts& p) {
  const auto chunk = static_cast<std::size_t>(run.integer("chunk"));
  const bool causal = run.config().flag("causal");
  const double c = static_cast<double>(chunk);
  const double factor =
      run.config().text("scaling") == "n2" ? 1.0 / (c * c) : 1.0 / (c * static_cast<double>(p.z.columns));
  const Matrix q = offset_scaled(run, p.z, "q_quad");
  const Matrix k = offset_scaled(run, p.z, "k_quad");
  const Matrix ql = offset_scaled(run, p.z, "q_lin");
  const Matrix kl = offset_scaled(run, p.z, "k_lin");
  Matrix out(p.v.rows, p.v.columns);
  for (std::size_t begin = 0; begin < p.v.rows; begin += chunk) {
    const std::size_t rows = std::min(chunk, p.v.rows - begin);
    Matrix part =
        squared_relu_mix(rows_of(q, begin, rows), rows_of(k, begin, rows), rows_of(p.v, begin, rows), factor, causal);
    const std::size_t seen = causal ? begin : p.v.rows;
    if (seen > 0) {
      Matrix state = product(transposed(rows_of(kl, 0, seen)), rows_of(p.v, 0, seen));
      for (double& value : state.values) {
        value /= static_cast<double>(seen);
      }
      part = sum(part, product(rows_of(ql, begin, rows), state));
    }
    std::copy(part.values.begin(), part.values.end(),
              out.values.begin() + static_cast<std::ptrdiff_t>(begin * out.columns));
  }
  return out;
}

} // namespace

TEST_CASE("flash equals plain loops, with and without a ragged last chunk") {
  for (const char* id : {"variant=flash:batch=2:seq_len=8:dim=6:qk_dim=3:chunk=4",
                         "variant=flash:seq_len=9:dim=4:qk_dim=2:chunk=4:causal=true",
                         "variant=flash:seq_len=7:dim=4:qk_dim=2:chunk=3:scaling=n2",
                         "variant=flash:seq_len=8:dim=4:qk_dim=2:chunk=2:causal=true"}) {
    check_gated_unit(id, mixed_chunk);
  }
}

TEST_CASE("causal flash in one chunk is causal gau") {
  const Case flash("variant=flash:seq_len=6:dim=4:qk_dim=2:causal=true");
  Case gau("variant=gau:seq_len=6:dim=4:qk_dim=2:causal=true");
  for (const char* name : {"wu", "wv", "wz", "wo"}) {
    gau.set(name, flash.given(name));
  }
  for (const char* name : {"gamma_q", "beta_q", "gamma_k", "beta_k"}) {
    gau.set(name, flash.given(std::string(name) + "_quad"));
  }
  CHECK(difference(flash.result("y"), gau.result("y")) < 1e-12);
}

TEST_CASE("flash in one chunk is gau plus a linear part over all tokens") {
  const std::string sizes = ":seq_len=6:dim=4:qk_dim=2";
  const Case flash("variant=flash" + sizes);
  const auto shared = [&](Case& other) {
    for (const char* name : {"wu", "wv", "wz", "wo"}) {
      other.set(name, flash.given(name));
    }
  };
  Case gau("variant=gau" + sizes);
  shared(gau);
  for (const char* name : {"gamma_q", "beta_q", "gamma_k", "beta_k"}) {
    gau.set(name, flash.given(std::string(name) + "_quad"));
  }
  // With queries of zero the quadratic part vanishes and the linear one is left.
  Case linear("variant=flash" + sizes);
  shared(linear);
  const Matrix zero(1, 2);
  for (const char* name : {"gamma_q_quad", "beta_q_quad"}) {
    linear.set(name, zero);
  }
  for (const char* name : {"gamma_k_quad", "beta_k_quad", "gamma_q_lin", "beta_q_lin", "gamma_k_lin", "beta_k_lin"}) {
    linear.set(name, flash.given(name));
  }
  CHECK(difference(flash.result("y"), sum(gau.result("y"), linear.result("y"))) < 1e-12);
}
