#include "cli/app.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <csignal>
#include <sstream>

using namespace attnprof;
using profilers::Record;
using profilers::Status;

namespace {

struct Bench {
  cli::Seams seams;
  std::string out;
  std::string err;

  Bench() {
    seams.files = std::make_shared<tests::FakeFolders>();
    seams.environment = [] { return profilers::Environment(); };
    seams.machine_path = [](const std::string&) { return std::nullopt; };
    seams.interrupt = std::make_shared<cli::Interrupt>();
  }
  int run(const std::vector<std::string>& args) {
    std::ostringstream out_stream;
    std::ostringstream err_stream;
    const int code = cli::run(args, out_stream, err_stream, seams);
    out = out_stream.str();
    err = err_stream.str();
    return code;
  }
};

Record row(Status status) {
  Record out;
  out.id = "variant=mha";
  out.status = status;
  out.reason = status == Status::kOk ? "" : "as the test wants";
  return out;
}

} // namespace

TEST_CASE("app: errors become one sentence and the exit code of their kind") {
  Bench bench;
  CHECK(bench.run({}) == 2);
  CHECK(bench.run({"frobnicate"}) == 2);
  CHECK(bench.err.starts_with("attnprof: 'frobnicate' is not a command"));
  CHECK(bench.out.empty());
  CHECK(bench.run({"cost", "--variant", "mha", "--heads", "5"}) == 2); // contradicts itself
  CHECK(bench.run({"report", "nowhere"}) == 2);
  bench.seams.environment = []() -> profilers::Environment { throw std::logic_error("a broken invariant"); };
  CHECK(bench.run({"cost", "--variant", "mha"}) == 1);
  CHECK(bench.err.find("a broken invariant") != std::string::npos);
  bench.seams.make_executor = [](std::string_view) -> std::unique_ptr<operators::Executor> {
    throw operators::Error(operators::ErrorKind::kUnavailable, "the device is on holiday");
  };
  CHECK(bench.run({"run", "--variant", "mha"}) == 7);
  CHECK(bench.err == "attnprof: the device is on holiday\n");
}

TEST_CASE("app: a caret stays under its place behind the program's name") {
  Bench bench;
  CHECK(bench.run({"cost", "--variant", "mha", "--where", "headz > 3"}) == 2);
  const std::size_t line = bench.err.find('\n');
  REQUIRE(line != std::string::npos);
  CHECK(bench.err.find("headz > 3") == bench.err.find('^') - line - 1);
}

TEST_CASE("app: results go to stdout, remarks to stderr") {
  Bench bench;
  CHECK(bench.run({"cost", "--variant", "mha", "--seq-len", "8", "--dim", "8", "--heads", "2"}) == 0);
  CHECK(bench.out.find("softmax") != std::string::npos);
  CHECK(bench.err.find("machine measure") != std::string::npos);
  CHECK(bench.run({"--version"}) == 0);
  CHECK(bench.err.empty());
  CHECK(bench.run({"help", "cost"}) == 0);
  CHECK(bench.out.find("usage: attnprof cost") != std::string::npos);
}

TEST_CASE("rows: the exit code follows the worst row and the interrupt, never a count (BUG-170)") {
  cli::Interrupt interrupt;
  CHECK(cli::rows_exit_code({}, interrupt) == 0);
  CHECK(cli::rows_exit_code({row(Status::kOk), row(Status::kSkipped), row(Status::kUnsupported), row(Status::kInvalid)},
                            interrupt) == 0);
  CHECK(cli::rows_exit_code({row(Status::kOk), row(Status::kFailed)}, interrupt) == 4);
  CHECK(cli::rows_exit_code(std::vector<Record>(300, row(Status::kIncorrect)), interrupt) == 4);
  interrupt.requested = true;
  interrupt.signal = SIGTERM;
  CHECK(cli::rows_exit_code({row(Status::kFailed)}, interrupt) == 143);
}

TEST_CASE("rows: statuses are counted, and rows that broke are named") {
  const std::vector<Record> rows{row(Status::kOk), row(Status::kOk), row(Status::kSkipped), row(Status::kFailed)};
  CHECK(cli::count_sentence(rows) == "4 cases: 2 ok, 1 skipped, 1 failed");
  CHECK(cli::count_sentence({row(Status::kOk)}) == "1 case: 1 ok");
  std::ostringstream err;
  cli::name_rows(rows, false, err);
  CHECK(err.str() == "attnprof: failed: variant=mha: as the test wants\n");
  std::ostringstream every;
  cli::name_rows(rows, true, every);
  CHECK(every.str().find("skipped") != std::string::npos);
  std::ostringstream many;
  cli::name_rows(std::vector<Record>(30, row(Status::kFailed)), false, many);
  CHECK(many.str().find("and 20 more") != std::string::npos);
  CHECK(many.str().find("no case was measured") != std::string::npos);
}
