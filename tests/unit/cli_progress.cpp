#include "cli/progress.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"

#include <sstream>

using namespace attnprof;
using cli::clock_text;
using cli::progress_bar;

TEST_CASE("progress: clock texts round up") {
  CHECK(clock_text(0) == "0:00");
  CHECK(clock_text(6.1) == "0:07");
  CHECK(clock_text(59.5) == "1:00");
  CHECK(clock_text(750) == "12:30");
  CHECK(clock_text(3723) == "1:02:03");
  CHECK(clock_text(-1) == "0:00");
}

TEST_CASE("progress: the bar fits its width") {
  CHECK(progress_bar(0, 10, std::nullopt, "mha", 80) == "[--------------------] 0/10  mha");
  CHECK(progress_bar(5, 10, 12.0, "mha", 80) == "[##########----------] 5/10  ETA 0:12  mha");
  CHECK(progress_bar(10, 10, 0.0, "mha", 80).starts_with("[####################] 10/10"));
  CHECK(progress_bar(0, 0, std::nullopt, "", 80).starts_with("[####################] 0/0"));
  CHECK(progress_bar(5, 10, 12.0, std::string(200, 'x'), 40).size() == 40);
}

TEST_CASE("progress: a terminal gets a bar that is taken away before each line") {
  std::ostringstream err;
  tests::FakeClock clock(0);
  cli::Progress progress(err, true, 60, 2, clock);
  progress.begin("first");
  CHECK(err.str() == "[--------------------] 0/2  first");
  clock.advance_s(4);
  progress.end("first took long");
  progress.begin("second");
  CHECK(err.str() == "[--------------------] 0/2  first\r\x1b[K[1/2] first took long\n"
                     "[##########----------] 1/2  ETA 0:04  second");
  progress.note("a sentence");
  progress.finish();
  CHECK(err.str().ends_with("\r\x1b[Kattnprof: a sentence\n"));
}

TEST_CASE("progress: elsewhere plain lines without control characters") {
  std::ostringstream err;
  tests::FakeClock clock(0);
  cli::Progress progress(err, false, 60, 2, clock);
  progress.begin("first");
  clock.advance_s(4);
  progress.end("first took long");
  progress.end("second");
  progress.finish();
  CHECK(err.str() == "[1/2, ETA 0:04] first took long\n[2/2] second\n");
}
