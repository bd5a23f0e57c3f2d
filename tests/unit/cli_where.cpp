#include "cli/where.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof;
using operators::Config;

namespace {

Config sample() {
  Config config;
  config.set("variant", std::string("gqa"));
  config.set("heads", std::int64_t{8});
  config.set("kv_heads", std::int64_t{2});
  config.set("dim", std::int64_t{64});
  config.set("seq_len", std::int64_t{4096});
  config.set("past_len", std::int64_t{0});
  config.set("mlp_ratio", 2.5);
  config.set("causal", true);
  config.set("rope", false);
  return config;
}

bool keeps(std::string_view text, const Config& config = sample()) {
  return cli::Where(text, operators::shared_params()).keeps(config);
}

std::string refusal(std::string_view text) {
  try {
    keeps(text);
  } catch (const operators::Error& error) {
    CHECK(error.kind() == operators::ErrorKind::kUsage);
    return error.what();
  }
  FAIL("accepted --where " << text);
  return {};
}

/// Column of the caret relative to the expression.
std::size_t caret(std::string_view text) {
  const std::string sentence = refusal(text);
  const std::size_t line = sentence.find('\n');
  REQUIRE(line != std::string::npos);
  REQUIRE(sentence.find('\n', line + 1) == std::string::npos);
  return sentence.find('^', line) - line - 1 - sentence.find(text);
}

} // namespace

TEST_CASE("where: comparisons and arithmetic") {
  CHECK(keeps("kv_heads<=heads && dim%heads==0"));
  CHECK_FALSE(keeps("kv_heads > heads"));
  CHECK(keeps("heads / kv_heads == 4"));
  CHECK(keeps("1 + 2 * 3 == 7"));
  CHECK(keeps("(1 + 2) * 3 == 9"));
  CHECK(keeps("10 - 3 - 2 == 5"));
  CHECK(keeps("-heads < 0"));
  CHECK(keeps("seq_len == 4k"));
  CHECK(keeps("7 / 2 == 3"));
  CHECK(keeps("mlp_ratio == 2.5"));
  CHECK(keeps("dim * mlp_ratio == 160"));
  CHECK(keeps("heads >= 8 && heads <= 8 && heads != 9"));
}

TEST_CASE("where: logic follows the precedences of C") {
  CHECK(keeps("true || false && false"));
  CHECK_FALSE(keeps("(true || false) && false"));
  CHECK(keeps("!false && !(1 > 2)"));
  CHECK(keeps("causal && !rope"));
  CHECK(keeps("causal == true"));
  CHECK(keeps("rope != causal"));
}

TEST_CASE("where: text is compared with quoted text") {
  CHECK(keeps("variant == 'gqa'"));
  CHECK(keeps("variant != \"mha\""));
  CHECK_FALSE(keeps("variant == 'mha' || variant == ''"));
}

TEST_CASE("where: a parameter that the case lacks leaves the condition undecided, which keeps the case") {
  CHECK(keeps("window < 8"));
  CHECK(keeps("!(window < 8)"));
  CHECK(keeps("window < 8 && heads == 8"));
  CHECK_FALSE(keeps("window < 8 && heads == 9")); // decided by the other side
  CHECK(keeps("window < 8 || heads == 9"));
  CHECK(keeps("chunk * 2 + 1 == 7"));
  CHECK(keeps("ffn == 'glu'"));
}

TEST_CASE("where: unknown names are shown with a caret and the nearest parameter") {
  CHECK(refusal("kv_heads<=headz").find("'heads'") != std::string::npos);
  CHECK(caret("kv_heads<=headz") == 10);
  CHECK(refusal("kv-heads<=heads").find("kv_heads") != std::string::npos);
  CHECK(refusal("frobnicate > 1").find("frobnicate") != std::string::npos);
}

TEST_CASE("where: what cannot be read is shown with a caret") {
  CHECK(caret("heads <= ") == 9);
  CHECK(caret("heads == 4 dim") == 11);
  CHECK(caret("(heads == 4") == 11);
  CHECK(caret("heads == 4)") == 10);
  CHECK(caret("heads = 4") == 6);
  CHECK(caret("heads & kv_heads") == 6);
  CHECK(caret("heads == 99999999999999999999") == 9);
  CHECK(caret("heads == 4x") == 9);
  CHECK(caret("variant == 'gqa") == 11);
  CHECK(caret("1 < 2 < 3") == 6);
  CHECK(refusal(" ").find("empty") != std::string::npos);
}

TEST_CASE("where: types are checked before any case is seen") {
  CHECK(caret("heads") == 0);           // not a condition
  CHECK(caret("heads + 1") == 6);       // neither
  CHECK(caret("heads && causal") == 0); // a number is no condition
  CHECK(caret("!heads") == 1);
  CHECK(caret("variant == 3") == 8);
  CHECK(caret("variant < 'gqa'") == 8);
  CHECK(caret("causal + 1 == 2") == 7);
  CHECK(caret("mlp_ratio % 2 == 0") == 10);
  CHECK(caret("-variant == 'x'") == 0);
}

TEST_CASE("where: arithmetic that has no result is an error, never a wrong answer") {
  CHECK(refusal("heads / past_len == 1").find("zero") != std::string::npos);
  CHECK(refusal("heads % past_len == 1").find("zero") != std::string::npos);
  CHECK(refusal("seq_len * 9000000000000000000 > 0").find("64") != std::string::npos);
  CHECK(refusal("-9223372036854775807 - 2 < 0").find("64") != std::string::npos);
  CHECK_FALSE(keeps("false && heads / past_len == 1")); // not evaluated where already decided
}

TEST_CASE("where: deep nesting is refused instead of overflowing the stack") {
  CHECK(refusal(std::string(500, '(').append("true")).find("nested") != std::string::npos);
  CHECK(refusal(std::string(500, '!').append("true")).find("nested") != std::string::npos);
  CHECK(refusal(std::string(500, '-').append("1 < 2")).find("nested") != std::string::npos);
  CHECK(refusal(std::string(100'000, '(')).find("1000 characters") != std::string::npos);
  CHECK(keeps("((((((((((true))))))))))"));
}
