#include "cli/app.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "profilers/machine_file.hpp"
#include "profilers/machine_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace attnprof;
using profilers::Record;
using profilers::Status;

namespace {

struct AppBench {
  cli::Seams seams;
  std::string out;
  std::string err;

  AppBench() {
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
  AppBench bench;
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
  AppBench bench;
  CHECK(bench.run({"cost", "--variant", "mha", "--where", "headz > 3"}) == 2);
  const std::size_t line = bench.err.find('\n');
  REQUIRE(line != std::string::npos);
  CHECK(bench.err.find("headz > 3") == bench.err.find('^') - line - 1);
}

TEST_CASE("app: results go to stdout, remarks to stderr") {
  AppBench bench;
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
  // Where nothing was measured, that is no success.
  CHECK(cli::rows_exit_code({row(Status::kSkipped), row(Status::kInvalid)}, interrupt) == 4);
  CHECK(cli::rows_exit_code({row(Status::kUnsupported), row(Status::kInvalid)}, interrupt) == 7);
  CHECK(cli::rows_exit_code({row(Status::kInvalid)}, interrupt) == 2);
  CHECK(cli::rows_exit_code(std::vector<Record>(300, row(Status::kIncorrect)), interrupt) == 4);
  interrupt.requested = true;
  interrupt.signal = SIGTERM;
  CHECK(cli::rows_exit_code({row(Status::kFailed)}, interrupt) == 143);
}

TEST_CASE("rows: statuses are counted, and rows that broke are named") {
  std::vector<Record> rows{row(Status::kOk), row(Status::kOk), row(Status::kSkipped), row(Status::kFailed)};
  CHECK(cli::count_sentence(rows) == "4 cases: 2 ok (2 not verified), 1 skipped, 1 failed");
  CHECK(cli::unverified_sentence(rows).find("2 of 4 rows were not checked") != std::string::npos);
  rows[0].max_relative_error = 1e-7;
  rows[1].max_relative_error = 1e-7;
  CHECK(cli::count_sentence(rows) == "4 cases: 2 ok, 1 skipped, 1 failed");
  CHECK(cli::count_sentence({rows[0]}) == "1 case: 1 ok");
  CHECK(cli::unverified_sentence(rows).empty());
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

namespace {

profilers::Machine small_machine(const std::string& fingerprint) {
  profilers::Machine machine;
  machine.fingerprint = fingerprint;
  machine.measured_on = "2026-03-01T12:00:00Z";
  machine.compute = {{"fma", "f32", "avx2", 1, 100e9, 40e9, 110e9}, {"exp", "f32", "avx2", 1, 2e9, 1.9e9, 2.1e9}};
  machine.bandwidth = {{"DRAM", "read", 1, 10e9, 9e9, 11e9, 1 << 28},
                       {"DRAM", "write_nt", 1, 20e9, 19e9, 21e9, 1 << 28}};
  machine.levels = {{"DRAM", 1, std::nullopt, "curve"}};
  machine.launch_overheads = {{1, 50e-9}};
  return machine;
}

} // namespace

TEST_CASE("machine show: says whose ceilings these are, from when and where, and which are not known well") {
  AppBench bench;
  bench.seams.files->write("m.json", profilers::machine_to_json(small_machine("0123456789abcdef")).dump());
  REQUIRE(bench.run({"machine", "show", "--hw", "m.json"}) == 0);
  CHECK_THAT(bench.out,
             Catch::Contains("measured on: 2026-03-01T12:00:00Z\nfingerprint: 0123456789abcdef\nfrom: m.json\n"));
  CHECK_THAT(bench.out, Catch::Contains("40.0 GFLOP/s .. 110 GFLOP/s !") && Catch::Contains("2.00 Gexp/s") &&
                            Catch::Contains("empty launch: 50.0 ns on 1 thread\n"));
  CHECK_THAT(bench.out, Catch::Contains("ridge: 10 FLOP/B (f32, 1 threads, DRAM read)"));
  CHECK_THAT(bench.err, Catch::Contains("1 of 4 ceilings (marked !)") && Catch::Contains("fma f32 avx2 x1"));
  REQUIRE(bench.run({"machine", "show", "--hw", "h200-sxm"}) == 0);
  CHECK_THAT(bench.out, Catch::Contains("measured on: -\nfingerprint: -\nfrom: h200-sxm\n"));
  CHECK(bench.err.empty());
}

TEST_CASE("cost: another device is priced by stated ceilings only") {
  AppBench bench;
  const tests::TempDir place;
  const auto file = place.path() / "machine.json";
  const std::string fingerprint = profilers::fingerprint(bench.seams.environment());
  profilers::save_machine(small_machine(fingerprint), file);
  bench.seams.machine_path = [&](const std::string&) { return file; };
  REQUIRE(bench.run({"cost", "--variant", "mha"}) == 0);
  CHECK_THAT(bench.out, Catch::Contains("of the predicted time of mha"));
  REQUIRE(bench.run({"cost", "--variant", "mha", "--device", "cuda"}) == 0);
  CHECK_THAT(bench.out, Catch::Contains("is unknown: no ceilings of a cuda device are known here") &&
                            !Catch::Contains("predicted time") && !Catch::Contains("memory DRAM"));
  REQUIRE(bench.run({"cost", "--variant", "mha", "--device", "cuda", "--json"}) == 0);
  CHECK_THAT(bench.out, Catch::Contains("\"predicted\": null"));
  REQUIRE(bench.run({"cost", "--variant", "mha", "--device", "cuda", "--hw", "h200-sxm"}) == 0);
  CHECK_THAT(bench.out, Catch::Contains("of the predicted time of mha"));
  REQUIRE(bench.run({"machine", "show"}) == 0);
  CHECK_THAT(bench.out, Catch::Contains("file: " + file.string() + "\n"));
}
