#include "operators/core/error.hpp"
#include "reports/json_document.hpp"
#include "reports/record_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

#include <optional>
#include <random>

using namespace attnprof;
using namespace attnprof::reports;

namespace {

/// Both readers of one text: what was read, or that it was refused.
struct ReadTwice {
  std::optional<Json> fast;
  std::optional<Json> portable;
  std::string fast_fault;
  std::string portable_fault;
};

ReadTwice read_twice(const std::string& text) {
  ReadTwice out;
  JsonDocument document;
  JsonParser parser;
  try {
    parser.read(text, "the text", document);
    out.fast = document.root().copy();
  } catch (const operators::Error& fault) {
    out.fast_fault = fault.what();
  }
  try {
    JsonParser::read_portably(text, "the text", document);
    out.portable = document.root().copy();
  } catch (const operators::Error& fault) {
    out.portable_fault = fault.what();
  }
  return out;
}

void check_alike(const std::string& text) {
  const ReadTwice read = read_twice(text);
  CHECK(read.fast.has_value() == read.portable.has_value());
  CHECK(read.fast_fault == read.portable_fault);
  if (read.fast && read.portable) {
    CHECK(json_text(*read.fast) == json_text(*read.portable));
    CHECK(read.fast->type() == read.portable->type());
  }
}

} // namespace

TEST_CASE("JSON is read alike by both parsers, and faults are explained in the same words") {
  const std::vector<std::string> texts = {
      "null", "true", "[]", "{}", "[[],{},[{}]]", "-0", "-0.0", "1e3", "0.1", "5e-324", "1.7976931348623157e308",
      "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
      "18446744073709551616", "1e400", "\"\"", "\"\\u00e9\\ud83d\\ude00\\n\\\"\"", "{\"a\":1,\"a\":2}",
      "{\"a\" : [1, 2.5, \"x\", null, {\"b\": false}]}  ", "\xef\xbb\xbf[1]",
      // refused
      "", " ", "[1,]", "{\"a\":}", "{a:1}", "01", "1.", ".5", "+1", "nul", "\"\\x\"", "\"\\ud800\"", "\"a\nb\"",
      "[1] 2", "NaN", "\"\xff\"", "{\"a\":1", "[\"open"};
  for (const std::string& text : texts) {
    INFO(text);
    check_alike(text);
  }
}

TEST_CASE("JSON of any depth, with blanks anywhere, and with texts and numbers of any length is read alike") {
  const auto repeated = [](std::string_view text, std::size_t times) {
    std::string out;
    while (times-- > 0) {
      out += text;
    }
    return out;
  };
  std::vector<std::string> texts = {" [ 1 ,\t2 , { \"a\" :\r null } ] ",
                                    "\n[\n1\n]\n",
                                    "[1 2]",
                                    "[1,\n",
                                    "\"" + repeated("long ", 10'000) + "\"",
                                    "[" + repeated("9", 18) + "]",
                                    "[" + repeated("9", 19) + "]",
                                    "[-" + repeated("1", 19) + "]",
                                    "[0." + repeated("123456789", 30) + "]",
                                    "[1." + repeated("0", 100) + "e99]",
                                    "[1e99,1e-99,1E+99,1e099,-1e100,1e-400]",
                                    "[1e]",
                                    "[1e+]",
                                    "[-]",
                                    "[1.e3]",
                                    "[--1]",
                                    "\"\\",
                                    "\"\\\"",
                                    "\"\\\\\"",
                                    "[\"a\\",
                                    "[tru",
                                    "[truefalse]",
                                    "[nulll]"};
  for (const std::size_t depth : {10, 63, 64, 65, 300}) {
    texts.push_back(repeated("[", depth) + repeated("]", depth));
    texts.push_back(repeated("{\"a\":", depth) + "1" + repeated("}", depth));
    texts.push_back(repeated("[", depth) + repeated("]", depth - 1));
  }
  // Special bytes at every place within words of eight.
  for (std::size_t before = 0; before < 20; ++before) {
    for (const std::string_view special :
         {"\\n", "\\u00e9", "\xc3\xa9", "\xe2\x82", "\x1f", "\x20", "\x7f", "\"", "\\"}) {
      texts.push_back("[\"" + repeated("x", before) + std::string(special) + "y\",2]");
    }
  }
  for (const std::string& text : texts) {
    INFO(text.substr(0, 100));
    check_alike(text);
    check_alike("[" + text);
    check_alike(text + "]");
  }
}

TEST_CASE("what stands beyond a text is no part of it") {
  // A line among others is read in place.
  JsonParser parser;
  JsonDocument document;
  const std::string next = "\"next\",1,2,3]}truefalse" + std::string(64, ' ');
  for (const std::string text : {"[1,2]", "\"a\"", "12", "null", "[\"a\",{}]"}) {
    const std::string lines = text + "\n" + next;
    parser.read(std::string_view(lines).substr(0, text.size()), "the line", document, lines.size());
    CHECK(json_text(document.root().copy()) == text);
  }
  for (const std::string text : {"[1,", "\"a", "\"a\\", "-", "1e", "nul", "", "[\"a\",{\"b\":", "[1,2] \\"}) {
    const std::string lines = text + "\n" + next;
    INFO(text);
    CHECK_THROWS_AS(parser.read(std::string_view(lines).substr(0, text.size()), "the line", document, lines.size()),
                    operators::Error);
  }
}

TEST_CASE("a line with a changed byte is read alike, or refused alike, by both parsers") {
  const std::string line = record_line(tests::derived_record());
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = line;
    const std::size_t at = random() % text.size();
    if (round % 3 == 0) {
      text.resize(at);
    } else {
      text[at] =
          static_cast<char>(round % 3 == 1 ? random() % 256 : std::string_view("{}[]\":,-+.eE01\\ ")[random() % 16]);
    }
    const ReadTwice read = read_twice(text);
    INFO(text);
    REQUIRE(read.fast.has_value() == read.portable.has_value());
    REQUIRE(read.fast_fault == read.portable_fault);
    if (read.fast) {
      REQUIRE(json_text(*read.fast) == json_text(*read.portable));
    } else {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}
