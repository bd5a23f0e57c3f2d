#include "reports/format.hpp"
#include "tests/support/catch.hpp"

#include <limits>

using namespace attnprof::reports;

TEST_CASE("exact prints the shortest text that reads back, and nothing for what is no number") {
  CHECK(exact(0.1) == "0.1");
  CHECK(exact(1.0 / 3.0) == "0.3333333333333333");
  CHECK(exact(1074790400.0) == "1074790400");
  CHECK(exact(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(exact(std::numeric_limits<double>::infinity()).empty());
}

TEST_CASE("si has three significant digits and the right prefix") {
  CHECK(si(12.615e12, "FLOP/s") == "12.6 TFLOP/s");
  CHECK(si(9.056e9, "B/s") == "9.06 GB/s");
  CHECK(si(999.4, "B") == "999 B");
  CHECK(si(999.6, "B") == "1.00 kB");
  CHECK(si(999999.0, "") == "1.00 M");
  CHECK(si(7.0, "") == "7");
  CHECK(si(0.0, "B") == "0 B");
  CHECK(si(0.75, "FLOP/B") == "0.75 FLOP/B");
  CHECK(si(-1500.0, "B") == "-1.50 kB");
  CHECK(si(std::nullopt, "B") == "-");
  CHECK(si(std::numeric_limits<double>::infinity(), "B") == "-");
}

TEST_CASE("BUG-156: small times never print as zero") {
  CHECK(seconds(3.2e-6) == "3.20 us");
  CHECK(seconds(46.3135e-3) == "46.3 ms");
  CHECK(seconds(1.0) == "1.00 s");
  CHECK(seconds(123.4) == "123 s");
  CHECK(seconds(5e-12) == "0.005 ns");
  CHECK(seconds(999.6e-6) == "1.00 ms");
  CHECK(seconds(0.0) == "0 s");
  CHECK(seconds(std::nullopt) == "-");
}

TEST_CASE("percent and plain") {
  CHECK(percent(0.0642) == "6.4 %");
  CHECK(percent(0.0004) == "0.04 %");
  CHECK(percent(1.183) == "118 %");
  CHECK(percent(1.0) == "100 %");
  CHECK(percent(0.0) == "0 %");
  CHECK(percent(std::nullopt) == "-");
  CHECK(plain(1392.98) == "1393");
  CHECK(plain(0.75) == "0.75");
  CHECK(plain(64.884) == "64.88");
  CHECK(plain(std::nullopt) == "-");
  CHECK(capacity(49152) == "48 KiB");
  CHECK(capacity(1048576) == "1 MiB");
  CHECK(capacity(512) == "512 B");
}

TEST_CASE("BUG-182: markup is escaped, attributes included") {
  CHECK(escape_markup("mha<fp16>&\"x\"'") == "mha&lt;fp16&gt;&amp;&quot;x&quot;&#39;");
  CHECK(escape_markup(std::string_view("a\x01z", 3)) == "a\xEF\xBF\xBDz");
}

TEST_CASE("tables line up by code points and leave no trailing blanks") {
  const std::string text = text_table({{"op", Align::kLeft}, {"time", Align::kRight}, {"note", Align::kLeft}},
                                      {{"softmax", "1 us", "µ"}, {"mm", "1000 us", ""}});
  CHECK(text == "op          time  note\n"
                "softmax     1 us  µ\n"
                "mm       1000 us\n");
}
