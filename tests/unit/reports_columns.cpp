#include "reports/columns.hpp"
#include "reports/console.hpp"
#include "reports/record_json.hpp"
#include "reports/writers/gnuplot.hpp"
#include "reports/writers/html.hpp"
#include "reports/writers/markdown.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;

namespace {

double number(const profilers::Record& record, std::string_view column) {
  const Cell cell = case_column(column).get(record);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    return static_cast<double>(*whole);
  }
  REQUIRE(std::holds_alternative<double>(cell));
  return std::get<double>(cell);
}

bool is_absent(const profilers::Record& record, std::string_view column) {
  return std::holds_alternative<std::monostate>(case_column(column).get(record));
}

} // namespace

TEST_CASE("columns: an 8x8x8 product in 32x32x32 tiles shows useful and executed work apart (BUG-098)") {
  profilers::Record record = tests::counted_record();
  record.launches = {{tests::launch_cost("x", "matmul", 512, 0, 0, 512, 256, 768), "", {}}};
  tests::add_totals(record);
  record.measured = profilers::Measurement{};
  record.measured->time_median_s = 14.8e-6;
  record.measured->counters.fp_ops = 65'536;
  CHECK(number(record, "flops_per_s") == Catch::Approx(0.0692e9).epsilon(1e-3));
  CHECK(number(record, "executed_flops_per_s") == Catch::Approx(4.43e9).epsilon(1e-3));
  CHECK(number(record, "useful_share") == Catch::Approx(1.0 / 64.0));
  CHECK(std::get<std::string>(case_column("fp_ops_origin").get(record)) == "counter");
  record.measured->counters.fp_ops = 1024;
  record.measured->counters.fp_ops_are_counted = true; // says nothing of what the processor did
  CHECK(is_absent(record, "executed_flops_per_s"));
  CHECK(is_absent(record, "useful_share"));
  CHECK(std::get<std::string>(case_column("fp_ops_origin").get(record)) == "counted");
}

TEST_CASE("columns: the ladder leads from compulsory bytes over launches and the model to counters") {
  profilers::Record record = tests::measured_record();
  const double bytes = static_cast<double>((record.totals->bytes_read + record.totals->bytes_written).value());
  CHECK(number(record, "launch_bytes_ratio") == Catch::Approx(bytes / 1000));
  CHECK(is_absent(record, "modelled_l2_bytes")); // a launch without a figure is not 0
  for (profilers::LaunchRecord& launch : record.launches) {
    launch.traffic = {500, 400, 300, 200};
  }
  CHECK(number(record, "modelled_l2_bytes") == 1500);
  CHECK(number(record, "modelled_dram_bytes") == 900);
  CHECK(number(record, "modelled_bytes_ratio") == Catch::Approx(0.9));
  CHECK(is_absent(record, "measured_bytes_ratio"));
  record.measured->counters.dram_bytes = 1200;
  CHECK(number(record, "measured_bytes_ratio") == Catch::Approx(2.0));
  record.measured->counters.dram_source = "controllers"; // which see what is written as well
  CHECK(number(record, "measured_bytes_ratio") == Catch::Approx(1200.0 / 900.0));
  const std::string line = ladder_line(record);
  CHECK(
      line.find("compulsory 1.00 kB, launches 2.18 MB (x2.18e+03), to L2 1.50 kB, to L3 1.20 kB, to DRAM 900 B by the "
                "cache model, read from DRAM 1.20 kB by counters") != std::string::npos);
  record.launches[1].traffic.l3_bytes.reset();
  CHECK(is_absent(record, "modelled_l3_bytes"));
  CHECK(ladder_line(record).find("to L3") == std::string::npos);
}

TEST_CASE("columns: a launch has its rungs of the ladder and their ratios") {
  profilers::Record record = tests::measured_record(); // the first launch moves 100 kB
  const auto of_first = [&](std::string_view name) {
    for (const KernelColumn& column : kernel_columns()) {
      if (column.spec.name == name) {
        return column.get(record, 0);
      }
    }
    FAIL("no such column");
    return Cell();
  };
  CHECK(std::holds_alternative<std::monostate>(of_first("modelled_bytes_ratio")));
  record.launches[0].traffic = {90'000, 80'000, 50'000, 40'000};
  CHECK(std::get<double>(of_first("modelled_bytes_ratio")) == Catch::Approx(0.5));
  CHECK(std::holds_alternative<std::monostate>(of_first("simulated_bytes_ratio")));
  record.launches[0].simulated.dram_bytes = 48'000;
  CHECK(std::get<double>(of_first("simulated_bytes_ratio")) == Catch::Approx(1.2));
}

TEST_CASE("columns: masked and padded work is a factor over useful work") {
  profilers::Record record = tests::counted_record();
  CHECK(number(record, "waste_factor") == Catch::Approx(1));
  CHECK(ladder_line(record).find("useful") == std::string::npos);
  record.totals->work.useful_macs = 500'000;
  CHECK(number(record, "waste_factor") == Catch::Approx(2));
  CHECK(ladder_line(record).find("50.0 % of 1.00 M MACs are useful (executed x2)") != std::string::npos);
  record.totals->work.useful_macs = 0;
  CHECK(is_absent(record, "waste_factor"));
}

TEST_CASE("columns: a machine without counters leaves cells empty and every view whole (BUG-120)") {
  profilers::Record record = tests::measured_record();
  record.counter_origin = "unavailable: cycles: <not supported>";
  for (const char* name : {"cycles", "instructions", "l1_misses", "l2_misses", "llc_misses", "dram_bytes", "fp_ops",
                           "instructions_per_cycle", "package_energy_j"}) {
    CHECK(is_absent(record, name));
  }
  ResultSet results;
  results.records = {record};
  CHECK(summary_markdown(results).find("## Bytes") != std::string::npos);
  CHECK(report_html(results).find("</html>") != std::string::npos);
  CHECK_FALSE(roofline_gnuplot(results).empty());
}

TEST_CASE("columns: energy is per image or token") {
  profilers::Record record = tests::measured_record(); // batch 2, 196 tokens
  CHECK(is_absent(record, "energy_per_item_j"));
  record.measured->counters.package_energy_j = 3.92;
  CHECK(number(record, "energy_per_item_j") == Catch::Approx(0.01));
  record.measured->counters.dram_energy_j = 0.392;
  CHECK(number(record, "energy_per_item_j") == Catch::Approx(0.011));
}

TEST_CASE("columns: modelled, simulated and energy figures survive the record") {
  profilers::Record record = tests::measured_record();
  record.launches[0].traffic = {5, 4, 3, 2};
  record.launches[0].simulated = {1000, 20, 3, 192};
  record.launch_roofs.resize(record.launches.size());
  record.launch_roofs[0].roof_level = "L1";
  record.launch_roofs[1].implausible = "too fast";
  record.roof.implausible = "all of it";
  record.measured->counters.l1_misses = 7;
  record.measured->counters.l2_misses = 6;
  record.measured->counters.dram_source = "misses";
  record.measured->counters.fp_ops = 99;
  record.measured->counters.fp_ops_are_counted = true;
  record.measured->counters.package_energy_j = 0.5;
  record.measured->counters.dram_energy_j = 0.25;
  record.energy_origin = "counter: two zones";
  const profilers::Record again = record_from_line(record_line(record));
  CHECK(again.launches[0].traffic.l2_bytes == 5);
  CHECK(again.launches[0].traffic.dram_fill_bytes == 2);
  CHECK_FALSE(again.launches[1].traffic.l2_bytes);
  CHECK(again.launches[0].simulated.instructions == 1000);
  CHECK(again.launches[0].simulated.dram_bytes == 192);
  CHECK(again.launch_roofs[1].implausible == "too fast");
  CHECK(again.roof.implausible == "all of it");
  CHECK(again.measured->counters.l1_misses == 7);
  CHECK(again.measured->counters.l2_misses == 6);
  CHECK(again.measured->counters.fp_ops_are_counted);
  CHECK(again.measured->counters.dram_source == "misses");
  CHECK(again.measured->counters.package_energy_j == 0.5);
  CHECK(again.measured->counters.dram_energy_j == 0.25);
  CHECK(again.energy_origin == "counter: two zones");
  CHECK(record_line(again) == record_line(record));
}
