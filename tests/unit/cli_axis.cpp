#include "cli/axis.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof;
using cli::parse_axis;
using operators::Error;
using operators::ErrorKind;
using operators::ParamSpec;
using operators::shared_param;

namespace {

std::vector<std::int64_t> integers(std::string_view name, std::string_view text) {
  std::vector<std::int64_t> out;
  for (const operators::Value& value : parse_axis(shared_param(name), text).values) {
    out.push_back(std::get<std::int64_t>(value));
  }
  return out;
}

std::vector<std::string> texts(std::string_view name, std::string_view text) {
  std::vector<std::string> out;
  for (const operators::Value& value : parse_axis(shared_param(name), text).values) {
    out.push_back(operators::to_string(value));
  }
  return out;
}

std::string axis_refusal(std::string_view name, std::string_view text) {
  try {
    parse_axis(shared_param(name), text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  FAIL("accepted --" << name << " " << text);
  return {};
}

using Ints = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("axis: single values, lists and the suffix k") {
  CHECK(integers("seq_len", "196") == Ints{196});
  CHECK(integers("seq_len", "64,128,256") == Ints{64, 128, 256});
  CHECK(integers("seq_len", "256, 64") == Ints{256, 64}); // order is the user's
  CHECK(integers("seq_len", "4k") == Ints{4096});
  CHECK(texts("variant", "mha,cga") == Texts{"mha", "cga"});
  CHECK(texts("grid", "7x7,14x14") == Texts{"7x7", "14x14"});
  CHECK(texts("causal", "true,false") == Texts{"true", "false"});
  CHECK(texts("causal", "") == Texts{"true"}); // the flag alone
  CHECK(parse_axis(shared_param("mlp_ratio"), "2.5,4").values == std::vector<operators::Value>{2.5, 4.0});
}

TEST_CASE("axis: ranges end at or before their end (BUG-080)") {
  CHECK(integers("seq_len", "128:1024:*2") == Ints{128, 256, 512, 1024});
  CHECK(integers("seq_len", "128:1000:*2") == Ints{128, 256, 512});
  CHECK(integers("seq_len", "10:50:10") == Ints{10, 20, 30, 40, 50});
  CHECK(integers("seq_len", "10:59:10") == Ints{10, 20, 30, 40, 50});
  CHECK(integers("seq_len", "1k:4k:*2") == Ints{1024, 2048, 4096});
  CHECK(integers("seq_len", "1k:3k:1k") == Ints{1024, 2048, 3072});
  CHECK(integers("seq_len", "7:7:3") == Ints{7});
  CHECK(integers("past_len", "0:8:4") == Ints{0, 4, 8});
  CHECK(integers("seq_len", "1,8:32:*2,9") == Ints{1, 8, 16, 32, 9});
}

TEST_CASE("axis: a range at the top of the parameter's range does not overflow") {
  CHECK(integers("seq_len", "3000000000:4000000000:*2") == Ints{3'000'000'000});
  CHECK(integers("seq_len", "3999999999:4000000000:9000000000000000") == Ints{3'999'999'999});
}

TEST_CASE("axis: ranges without values or without an end are refused (BUG-080)") {
  for (const std::string_view range :
       {"5:1", "5:1:1", "5:1:*2", "1:64", "1:64:0", "1:64:*1", "1:64:*0", "1:64:-1", "1:64:", "1:64:*", "1:64:1:1",
        ":64:1", "1::1", "1:64:2x", "1:64:99999999999999999999"}) {
    INFO(range);
    CHECK(axis_refusal("seq_len", range).find("--seq-len") != std::string::npos);
  }
  CHECK(axis_refusal("seq_len", "1:64").find("1:64:*2") != std::string::npos);
  CHECK(axis_refusal("seq_len", "5:1").find("empty") != std::string::npos);
  CHECK(axis_refusal("past_len", "0:64:*2").find("0,1:64:*2") != std::string::npos);
}

TEST_CASE("axis: values that do not fit are refused with the flag and the limit (BUG-072, BUG-073)") {
  for (const std::string_view text : {"99999999999999999999", "9223372036854775808", "9223372036854775807k", "-1", "0",
                                      "12abc", "1:99999999999999999999:*2"}) {
    INFO(text);
    const std::string sentence = axis_refusal("seq_len", text);
    CHECK(sentence.find("--seq-len") != std::string::npos);
    CHECK(sentence.find("4000000000") != std::string::npos);
  }
  CHECK(axis_refusal("dim", " -8").find("-8") != std::string::npos);
  CHECK(axis_refusal("causal", "true,").find("--causal") != std::string::npos);
}

TEST_CASE("axis: empty items are refused, repeated values count once") {
  for (const std::string_view text : {"", ",", "1,", ",1", "1,,2", " "}) {
    INFO("'" << text << "'");
    CHECK(axis_refusal("seq_len", text).find("empty") != std::string::npos);
  }
  CHECK(integers("seq_len", "64,64,32,64") == Ints{64, 32});
  CHECK(integers("seq_len", "4096,4k") == Ints{4096});
}

TEST_CASE("axis: a list on --skip is one value unless ';' separates") {
  CHECK(texts("skip", "3,5,7,9") == Texts{"3,5,7,9"});
  CHECK(texts("skip", "3-8;3,5,7,9") == Texts{"3-8", "3,5,7,9"});
}

TEST_CASE("axis: a range that is far too long is refused before it fills the memory") {
  CHECK(axis_refusal("seq_len", "1:4000000000:1").find("10000") != std::string::npos);
  CHECK(integers("seq_len", "1:10000:1").size() == cli::kMaxAxisValues);
}
