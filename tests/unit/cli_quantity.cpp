#include "cli/quantity.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace attnprof;
using operators::Error;

namespace {
template <class Function>
std::string usage_refusal_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK(error.kind() == operators::ErrorKind::kUsage);
    return error.what();
  }
  FAIL("accepted");
  return {};
}
} // namespace

TEST_CASE("quantity: durations carry a unit, a bare number is seconds (BUG-079)") {
  CHECK(cli::parse_duration_s("--min-time", "10") == 10.0);
  CHECK(cli::parse_duration_s("--min-time", "0.5") == 0.5);
  CHECK(cli::parse_duration_s("--min-time", "10ms") == Catch::Approx(0.010));
  CHECK(cli::parse_duration_s("--min-time", "250us") == Catch::Approx(250e-6));
  CHECK(cli::parse_duration_s("--budget", "90s") == 90.0);
  CHECK(cli::parse_duration_s("--budget", "5m") == 300.0);
  CHECK(cli::parse_duration_s("--budget", "1h") == 3600.0);
  for (const char* text : {"", "s", "0", "-1", "0s", "nan", "inf", "1d", "5 m", "1e9", "0x10", "1,5"}) {
    INFO(text);
    const std::string sentence = usage_refusal_of([&] { cli::parse_duration_s("--budget", text); });
    CHECK(sentence.find("--budget") != std::string::npos);
    CHECK(sentence.find("5m") != std::string::npos);
  }
}

TEST_CASE("quantity: ratios are percentages or below one") {
  CHECK(cli::parse_ratio("--threshold", "5%") == Catch::Approx(0.05));
  CHECK(cli::parse_ratio("--threshold", "0.05") == 0.05);
  CHECK(cli::parse_ratio("--threshold", "0%") == 0.0);
  CHECK(cli::parse_ratio("--threshold", "150%") == Catch::Approx(1.5));
  for (const char* text : {"", "%", "5", "1", "-5%", "five", "nan", "5%%"}) {
    INFO(text);
    CHECK(usage_refusal_of([&] { cli::parse_ratio("--threshold", text); }).find("--threshold") != std::string::npos);
  }
}

TEST_CASE("quantity: counts stay in their range") {
  CHECK(cli::parse_count("--seed", "0", 0, 10) == 0);
  CHECK(cli::parse_count("--seed", "10", 0, 10) == 10);
  for (const char* text : {"", "-1", "11", "1.5", "99999999999999999999", "3x"}) {
    INFO(text);
    CHECK(usage_refusal_of([&] { cli::parse_count("--seed", text, 0, 10); }).find("from 0 to 10") != std::string::npos);
  }
}

TEST_CASE("quantity: shards count from one") {
  const cli::Shard shard = cli::parse_shard("2/3");
  CHECK(shard.index == 2);
  CHECK(shard.count == 3);
  for (const char* text : {"", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1/", "/3", "1/100001"}) {
    INFO(text);
    CHECK(usage_refusal_of([&] { cli::parse_shard(text); }).find("--shard") != std::string::npos);
  }
}

TEST_CASE("quantity: memory in SI and binary units") {
  CHECK(cli::parse_bytes("--memory", "80GB") == 80'000'000'000);
  CHECK(cli::parse_bytes("--memory", "24GiB") == 24LL << 30);
  CHECK(cli::parse_bytes("--memory", "1.5k") == 1500);
  for (const char* text : {"", "GB", "0", "-1GB", "1e30", "5iB", "5XB", "80", "nan", "80 GB"}) {
    CHECK(usage_refusal_of([&] { (void)cli::parse_bytes("--memory", text); }).find("80GB") != std::string::npos);
  }
}
