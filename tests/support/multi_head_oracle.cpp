#include "tests/support/multi_head_oracle.hpp"

#include "tests/support/catch.hpp"

namespace attnprof::testing {
namespace {

/// Rotates channel i with channel i + d/2 by position * 10000^(-2i/d).
Matrix rotated(const Matrix& x, std::size_t first_position) {
  Matrix out = x;
  const std::size_t half = x.columns / 2;
  for (std::size_t t = 0; t < x.rows; ++t) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(first_position + t) *
                           std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(x.columns));
      out(t, i) = x(t, i) * std::cos(angle) - x(t, i + half) * std::sin(angle);
      out(t, i + half) = x(t, i + half) * std::cos(angle) + x(t, i) * std::sin(angle);
    }
  }
  return out;
}

std::function<bool(std::size_t, std::size_t)> mask_of(const operators::Config& config, std::size_t n_q,
                                                      std::size_t n_k) {
  if (!config.flag("causal")) {
    return no_mask();
  }
  const auto window = static_cast<std::size_t>(config.integer_or("window", 1'000'000));
  const auto causal = causal_mask(n_q, n_k);
  return [=](std::size_t i, std::size_t j) { return causal(i, j) && j + n_q + window > i + n_k; };
}

Matrix expected_of(const Case& run, const Matrix& x, const Matrix& context, std::size_t kv_heads) {
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const Matrix q = product(x, run.given("wq"));
  const Matrix k = product(context, run.given("wk"));
  const Matrix v = product(context, run.given("wv"));
  const std::size_t qk_dim = q.columns / heads;
  const std::size_t v_dim = v.columns / kv_heads;
  Matrix mixed(x.rows, heads * v_dim);
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t shared = h / (heads / kv_heads);
    Matrix qh = columns_of(q, h * qk_dim, qk_dim);
    Matrix kh = columns_of(k, shared * qk_dim, qk_dim);
    if (run.config().flag("rope")) {
      qh = rotated(qh, 0);
      kh = rotated(kh, 0);
    }
    put_columns(mixed, h * v_dim,
                attend(qh, kh, columns_of(v, shared * v_dim, v_dim), 1.0 / std::sqrt(static_cast<double>(qk_dim)),
                       mask_of(run.config(), x.rows, context.rows)));
  }
  return product(mixed, run.given("wo"));
}

/// Runs the tokens in chunks through the cache and returns the stacked outputs.
Matrix decode(const std::string& id, const Matrix& tokens, const std::vector<std::size_t>& chunks, std::size_t kv_heads,
              std::size_t width) {
  Matrix out(tokens.rows, tokens.columns);
  std::vector<double> k_past;
  std::vector<double> v_past;
  std::size_t past = 0;
  for (const std::size_t chunk : chunks) {
    Case step(id + ":phase=decode:causal=true:rope=true:seq_len=" + std::to_string(chunk) +
              ":past_len=" + std::to_string(past));
    // The cache is [kv_heads, past + chunk, width]: lay the past of each head in front of room for the new tokens.
    const auto place = [&](const char* name, const std::vector<double>& values) {
      Matrix cache = step.given(name);
      for (std::size_t h = 0; h < kv_heads; ++h) {
        for (std::size_t t = 0; t < past; ++t) {
          for (std::size_t d = 0; d < width; ++d) {
            cache(h * (past + chunk) + t, d) = values[(h * past + t) * width + d];
          }
        }
      }
      step.set(name, cache);
    };
    place("k_cache", k_past);
    place("v_cache", v_past);
    step.set("x", rows_of(tokens, past, chunk));
    k_past = step.result("k_cache").values;
    v_past = step.result("v_cache").values;
    const Matrix y = step.result("y");
    std::copy(y.values.begin(), y.values.end(), out.values.begin() + static_cast<std::ptrdiff_t>(past * out.columns));
    past += chunk;
  }
  return out;
}

void check_chunks(const std::string& id, const std::vector<std::size_t>& chunks, std::size_t kv_heads,
                  std::size_t width) {
  const Case whole(id + ":causal=true:rope=true:seq_len=5");
  CHECK(difference(decode(id, whole.given("x"), chunks, kv_heads, width), whole.result("y")) < 1e-12);
}

} // namespace

std::size_t heads_of(const std::string& id) {
  return static_cast<std::size_t>(Case(id).integer("heads"));
}

void check_multi_head(const std::string& id, std::size_t kv_heads) {
  for (const char* plan : {"eager", "fused"}) {
    INFO(id << " " << plan);
    const Case run(id, plan);
    const auto batch = static_cast<std::size_t>(run.integer("batch"));
    const Matrix x = run.given("x");
    const Matrix context = run.config().has("kv_len") ? run.given("context") : x;
    const Matrix y = run.result("y");
    const std::size_t tokens = x.rows / batch;
    for (std::size_t b = 0; b < batch; ++b) {
      const Matrix expected = expected_of(run, rows_of(x, b * tokens, tokens),
                                          rows_of(context, b * context.rows / batch, context.rows / batch), kv_heads);
      CHECK(difference(rows_of(y, b * tokens, tokens), expected) < 1e-6); // the rotary table is stored in f32
    }
  }
}

void check_decode_is_prefill(const std::string& id, std::size_t kv_heads, std::size_t width) {
  check_chunks(id, {1, 1, 1, 1, 1}, kv_heads, width);
}

void check_chunked_prefill(const std::string& id, std::size_t kv_heads, std::size_t width) {
  check_chunks(id, {2, 3}, kv_heads, width);
}

void check_causality(const std::string& id) {
  Case run(id + ":causal=true:seq_len=6");
  const Matrix before = run.result("y");
  Matrix x = run.given("x");
  for (std::size_t j = 0; j < x.columns; ++j) {
    x(5, j) += 0.5;
  }
  run.set("x", x);
  const Matrix after = run.result("y");
  CHECK(difference(rows_of(before, 0, 5), rows_of(after, 0, 5)) == 0.0);
  CHECK(difference(rows_of(before, 5, 1), rows_of(after, 5, 1)) > 0.0);
}

} // namespace attnprof::testing
