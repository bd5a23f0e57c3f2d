// Each comparison with made-up times: its counted figures are the sources', its measured ones follow from the times.
#include "tests/support/catch.hpp"

#include "cli/presets/preset.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <cmath>

using namespace attnprof::cli;
namespace operators = attnprof::operators;

namespace {

/// A machine on which a token of an attention operator takes a millisecond per token, everything else one second.
std::vector<std::optional<double>> made_up(const std::vector<operators::Config>& cases) {
  std::vector<std::optional<double>> out;
  for (const operators::Config& config : cases) {
    const double tokens = static_cast<double>(config.integer("seq_len"));
    const bool attention = config.text("layout") == "op" && config.text("variant") == "mha";
    const bool phi = config.text("layout") == "op" && config.text("variant") == "skipat";
    out.emplace_back(attention ? tokens * tokens * 1e-3 : phi ? tokens * 0.1 : 1.0);
  }
  return out;
}

std::vector<PresetRow> rows_of(const std::string& name, const PresetFigures::Measure& measure = made_up) {
  return find_preset(name).rows(PresetFigures(measure));
}

std::optional<double> figure(const std::vector<PresetRow>& rows, const std::string& start) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const PresetRow& row) { return row.quantity.starts_with(start); });
  REQUIRE(found != rows.end());
  return found->ours;
}

} // namespace

TEST_CASE("presets: group attention saves the parameters that the source says") {
  const auto rows = rows_of("group-params");
  CHECK(figure(rows, "q, k, v parameters") == 36'864.0);
  CHECK(figure(rows, "the same") == 9'216.0);
  CHECK(figure(rows, "ratio") == 4.0);
  CHECK(figure(rows, "one projection of one head: from all channels") == 3'072.0);
  CHECK(figure(rows, "one projection of one head: from its slice") == 768.0);
}

TEST_CASE("presets: one sandwich has one attention pass where three standard blocks have three") {
  const auto rows = rows_of("sandwich");
  CHECK(figure(rows, "attention passes: three") == 3.0);
  CHECK(figure(rows, "attention passes: one") == 1.0);
  CHECK(figure(rows, "time, sandwich") == 1.0);
}

TEST_CASE("presets: reallocation halves queries, keys, values and FFN") {
  const auto rows = rows_of("reallocation");
  CHECK(figure(rows, "q, k, v and FFN") == 405'504.0);
  CHECK(figure(rows, "the same") == 202'752.0);
  CHECK(figure(rows, "ratio") == 0.5);
  CHECK(figure(rows, "the FFN alone, before") == 294'912.0);
}

TEST_CASE("presets: two gated units have the parameters of one attention and FFN") {
  const auto rows = rows_of("gau");
  CHECK(figure(rows, "matrix parameters") == 7'077'888.0);
  CHECK(figure(rows, "two GAU layers, expansion 2, without wz") == 7'077'888.0);
  CHECK(figure(rows, "elements of score matrices") == 12.0 * 1024 * 1024);
}

TEST_CASE("presets: mixed chunks have less to do from the length that the closed form gives") {
  const auto rows = rows_of("flash-crossover");
  CHECK(figure(rows, "shortest length") == 512.0); // above 492, in whole chunks
  CHECK(figure(rows, "multiply-adds, FLASH / FLASH-Quad, 256 tokens").value() > 1.0);
  CHECK(figure(rows, "multiply-adds, FLASH / FLASH-Quad, 512 tokens").value() < 1.0);
  CHECK_FALSE(figure(rows, "length from which FLASH is faster").has_value()); // it is never faster here
}

TEST_CASE("presets: the length from which phi pays is counted and found from the times") {
  const auto rows = rows_of("skipat-phi");
  CHECK(figure(rows, "tokens from which phi (5x5") == 26.0); // n > 25
  // n² / 1000 and n / 10 meet at 100 tokens, which is among the lengths.
  CHECK(figure(rows, "time, phi / attention, 100 tokens").value() == Catch::Approx(1.0));
  CHECK(figure(rows, "tokens from which phi is faster").value() == Catch::Approx(100.0));
  CHECK(figure(rows, "throughput / all attention: identity") == 1.0);
}

TEST_CASE("presets: MQA keeps a fraction of the cache of MHA") {
  const auto rows = rows_of("kv-cache");
  CHECK(figure(rows, "cache of one layer, 4096 tokens: MHA") == 2.0 * 4096 * 2048 * 4);
  CHECK(figure(rows, "cache of one layer, 4096 tokens: MQA") == 2.0 * 4096 * 64 * 4);
  CHECK(figure(rows, "cache per token, 16 bits: Llama-2-7B") == 524'288.0);
  CHECK(figure(rows, "cache per token, 16 bits: Llama-2-70B") == 327'680.0);
}

TEST_CASE("presets: what failed to be measured is absent, and the counted rows stay") {
  const auto none = [](const std::vector<operators::Config>& cases) {
    return std::vector<std::optional<double>>(cases.size());
  };
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    for (const PresetRow& row : preset.rows(PresetFigures(none))) {
      CAPTURE(row.quantity);
      CHECK(row.ours.has_value() == (row.origin == FigureOrigin::kCounted));
    }
  }
}

TEST_CASE("presets: a crossing is interpolated between the sizes around it") {
  CHECK(crossing({10, 40}, {2.0, 0.5}).value() == Catch::Approx(20.0));
  CHECK(crossing({10, 40, 90}, {4.0, 1.0, 0.5}).value() == Catch::Approx(40.0));
  CHECK_FALSE(crossing({10, 40}, {2.0, 1.5}));
  CHECK_FALSE(crossing({10, 40}, {0.9, 0.5}));
  CHECK_FALSE(crossing({10, 40}, {2.0, std::nullopt}));
  CHECK_FALSE(crossing({}, {}));
  CHECK_FALSE(crossing({10, 40, 90, 160}, {2.0, 0.8, 1.1, 0.7})); // a dip is no crossing
}

TEST_CASE("presets: a misspelt name is refused with the nearest") {
  REQUIRE_THROWS_WITH(find_preset("sandwhich"), Catch::Contains("'sandwhich'") && Catch::Contains("'sandwich'"));
}
