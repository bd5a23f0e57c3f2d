#include "reports/derive.hpp"
#include "reports/schema.hpp"
#include "reports/writers/csv.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_csv_reader.hpp"
#include "tests/unit/reports_records.hpp"

#include <clocale>
#include <locale>
#include <set>

using namespace attnprof;
using namespace attnprof::reports;
using attnprof::tests::read_csv;

namespace {

std::string cell(const std::vector<std::vector<std::string>>& rows, std::size_t row, const std::string& name) {
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == name) {
      return rows[row].at(i);
    }
  }
  FAIL("no column " + name);
  return {};
}

std::vector<profilers::Record> mixed_records() {
  profilers::Record ok = tests::measured_record();
  derive(ok, tests::round_roofs());
  profilers::Record skipped = tests::counted_record("gqa");
  skipped.status = profilers::Status::kSkipped;
  skipped.reason = "needs 4.2 GB of memory, 1.0 GB is free";
  profilers::Record invalid;
  invalid.id = "standard(mha,ffn=\"glu\")\nsecond line";
  invalid.status = profilers::Status::kInvalid;
  invalid.reason = "heads 12 do not divide dim 1024";
  return {ok, skipped, invalid};
}

} // namespace

TEST_CASE("BUG-172, BUG-178, BUG-199: a row a case, as many fields as the header, no numbers for what did not run") {
  const auto rows = read_csv(results_csv(mixed_records()));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].size() == case_columns().size());
  for (const auto& row : rows) {
    CHECK(row.size() == rows[0].size());
  }
  CHECK(cell(rows, 1, "status") == "ok");
  CHECK(cell(rows, 1, "schema_version") == std::to_string(kSchemaVersion));
  CHECK(cell(rows, 3, "schema_version") == std::to_string(kSchemaVersion));
  CHECK(cell(read_csv(kernels_csv(mixed_records())), 1, "schema_version") == std::to_string(kSchemaVersion));
  CHECK(cell(rows, 1, "flops") == "2050000");
  CHECK(cell(rows, 1, "time_median_s") == "0.00014");
  CHECK(cell(rows, 1, "threads") == "2");
  CHECK(cell(rows, 1, "causal") == "false");
  CHECK(cell(rows, 1, "chunk").empty());
  CHECK(cell(rows, 1, "cycles").empty());
  CHECK(cell(rows, 1, "counter_origin") == "no counters: this machine has no PMU");
  CHECK(cell(rows, 2, "status") == "skipped");
  CHECK(cell(rows, 2, "reason") == "needs 4.2 GB of memory, 1.0 GB is free");
  CHECK(cell(rows, 2, "flops") == "2050000");
  CHECK(cell(rows, 2, "time_median_s").empty());
  CHECK(cell(rows, 2, "flops_per_s").empty());
  CHECK(cell(rows, 3, "status") == "invalid");
  CHECK(cell(rows, 3, "flops").empty());
}

TEST_CASE("BUG-177: commas, quotes and line ends come back as they were") {
  CHECK(csv_field("standard(mha,ffn=\"glu\")") == "\"standard(mha,ffn=\"\"glu\"\")\"");
  CHECK(csv_field("plain") == "plain");
  CHECK(csv_field(" edge") == "\" edge\"");
  const auto rows = read_csv(results_csv(mixed_records()));
  CHECK(cell(rows, 3, "id") == "standard(mha,ffn=\"glu\")\nsecond line");
}

TEST_CASE("the columns of the contract are there, once each") {
  const auto rows = read_csv(results_csv({}));
  REQUIRE(rows.size() == 1);
  const std::set<std::string> names(rows[0].begin(), rows[0].end());
  CHECK(names.size() == rows[0].size());
  for (const char* name : {"id",
                           "status",
                           "reason",
                           "warnings",
                           "variant",
                           "layout",
                           "batch",
                           "seq_len",
                           "dtype",
                           "plan",
                           "device",
                           "macs",
                           "flops",
                           "matmul_flops",
                           "vector_flops",
                           "transcendentals",
                           "useful_macs",
                           "bytes_read",
                           "bytes_written",
                           "bytes",
                           "compulsory_bytes",
                           "intensity",
                           "params",
                           "weight_bytes",
                           "kv_cache_bytes",
                           "peak_activation_bytes",
                           "launches",
                           "time_median_s",
                           "time_min_s",
                           "time_ci_low_s",
                           "time_ci_high_s",
                           "time_mad_s",
                           "samples",
                           "stop_reason",
                           "stability",
                           "timer",
                           "flops_per_s",
                           "bytes_per_s",
                           "items_per_s",
                           "item",
                           "attainable_flops_per_s",
                           "roof_fraction",
                           "bound",
                           "bound_margin",
                           "roof_level",
                           "memory_bound_time_share",
                           "attention_time_share",
                           "cpu_clock_hz",
                           "cycles",
                           "instructions",
                           "llc_misses",
                           "dram_bytes",
                           "fp_ops",
                           "page_faults",
                           "context_switches",
                           "steal_s",
                           "counter_origin",
                           "kernel_impl",
                           "threads",
                           "cache_policy",
                           "max_relative_error"}) {
    INFO(name);
    CHECK(names.count(name) == 1);
  }
}

TEST_CASE("kernels.csv has a row a launch") {
  const auto rows = read_csv(kernels_csv(mixed_records()));
  REQUIRE(rows.size() == 1 + 3 + 3);
  CHECK(cell(rows, 1, "scope") == "scores");
  CHECK(cell(rows, 1, "bound") == "compute");
  CHECK(cell(rows, 1, "time_median_s") == "2e-05");
  CHECK(std::stod(cell(rows, 1, "time_share")) == Catch::Approx(20.0 / 130.0));
  CHECK(cell(rows, 4, "time_median_s").empty());
  CHECK(cell(rows, 3, "flops_per_s") == "0");
}

TEST_CASE("BUG-051, BUG-206: rates follow from counts and times in decimal units") {
  profilers::Record record = tests::counted_record();
  record.totals->work = {500'000'000, 0, 0, 0};
  record.measured = profilers::Measurement{};
  record.measured->time_median_s = 1.0e-3;
  CHECK(std::get<double>(case_column("flops_per_s").get(record)) == Catch::Approx(1000e9));
  record.totals->work.macs *= 2;
  record.measured->time_median_s = 10.0e-3;
  CHECK(std::get<double>(case_column("flops_per_s").get(record)) == Catch::Approx(200e9));
}

TEST_CASE("BUG-088: intensity is not truncated") {
  profilers::Record record = tests::counted_record();
  record.totals->work = {0, 0, 3, 0};
  record.totals->bytes_read = 4;
  record.totals->bytes_written = 0;
  CHECK(std::get<double>(case_column("intensity").get(record)) == 0.75);
  record.totals->bytes_read = 0;
  CHECK(std::holds_alternative<std::monostate>(case_column("intensity").get(record)));
}

TEST_CASE("images are counted where there is a grid") {
  profilers::Record record = tests::measured_record();
  record.config.set("grid", std::string("14x14"));
  CHECK(std::get<std::string>(case_column("item").get(record)) == "image");
  CHECK(std::get<double>(case_column("items_per_s").get(record)) == Catch::Approx(2 / 140e-6));
}

TEST_CASE("an unknown column is refused with the nearest name") {
  CHECK_THROWS_WITH(case_column("time_medain_s"), Catch::Matchers::Contains("time_median_s"));
}

TEST_CASE("BUG-180: the locale of the process does not reach the files") {
  struct CommaPoint : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::string expected = results_csv(mixed_records()) + kernels_csv(mixed_records());
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaPoint));
  const std::string actual = results_csv(mixed_records()) + kernels_csv(mixed_records());
  std::locale::global(before);
  CHECK(actual == expected);
}
