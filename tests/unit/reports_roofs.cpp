#include "operators/core/error.hpp"
#include "reports/derive.hpp"
#include "reports/hardware.hpp"
#include "reports/roofs.hpp"
#include "reports/spec_sheets.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

/// Two cores, measured with one thread and with both.
profilers::Machine two_cores() {
  profilers::Machine machine;
  machine.environment.cores = 2;
  for (const int threads : {1, 2}) {
    const double scale = threads;
    machine.compute.push_back({"fma", "f32", "avx2", threads, 100e9 * scale, 0, 0});
    machine.compute.push_back({"fma", "f32", "baseline", threads, 25e9 * scale, 0, 0});
    machine.compute.push_back({"fma_add", "f32", "avx2", threads, 150e9 * scale, 0, 0});
    machine.compute.push_back({"exp", "f32", "avx2", threads, 2e9 * scale, 0, 0});
    machine.compute.push_back({"bf16_dot", "bf16", "avx512", threads, 200e9 * scale, 0, 0});
    machine.bandwidth.push_back({"L1", "read", threads, 400e9 * scale, 0, 0, 0});
    machine.bandwidth.push_back({"L2", "read", threads, 200e9 * scale, 0, 0, 0});
    machine.bandwidth.push_back({"DRAM", "copy", threads, 30e9 * scale, 0, 0, 0});
    machine.bandwidth.push_back({"DRAM", "read", threads, 28e9 * scale, 0, 0, 0});
    machine.levels.push_back({"L1", threads, 32'768 * threads, "curve"});
    machine.levels.push_back({"L2", threads, 1'048'576 * threads, "curve"});
    machine.levels.push_back({"DRAM", threads, {}, "curve"});
  }
  return machine;
}

} // namespace

TEST_CASE("ceilings follow dtype, unit and threads") {
  const profilers::Machine machine = two_cores();
  const Roofs one = roofs_at(machine, "f32", 1);
  CHECK(one.matrix->per_s == 100e9); // the fastest instruction set
  CHECK(one.matrix->label == "fma f32 avx2, 1 thread");
  CHECK(one.matrix->origin == "measured");
  CHECK(one.vector->per_s == 150e9);
  CHECK(one.transcendental->per_s == 2e9);
  REQUIRE(one.memory.size() == 3);
  CHECK(one.memory[0].level == "L1");
  CHECK(one.memory[0].capacity_bytes == 32'768);
  CHECK(one.memory[1].capacity_bytes == 1'048'576);
  CHECK_FALSE(one.memory[2].capacity_bytes);
  CHECK(one.memory[2].bytes_per_s == 30e9); // the fastest kind of traffic
  const Roofs two = roofs_at(machine, "f32", 2);
  CHECK(two.matrix->per_s == 200e9);
  CHECK(two.memory[0].capacity_bytes == 65'536);
}

TEST_CASE("bandwidth is that of the traffic with the most similar mix of reads and writes") {
  profilers::Machine machine = two_cores();
  machine.bandwidth.push_back({"DRAM", "write", 1, 12e9, 0, 0, 0});
  machine.bandwidth.push_back({"DRAM", "write_nt", 1, 50e9, 0, 0, 0});
  machine.bandwidth.push_back({"DRAM", "triad", 1, 27e9, 0, 0, 0});
  const Roofs roofs = roofs_at(machine, "f32", 1);
  const auto ceiling = [&](double read, double written) { return roofs.memory.back().ceiling_of(read, written); };
  CHECK(ceiling(100, 0).traffic == "read");
  CHECK(ceiling(100, 0).bytes_per_s == 28e9);
  CHECK(ceiling(200, 100).traffic == "triad");
  CHECK(ceiling(100, 100).traffic == "copy");
  CHECK(ceiling(10, 100).traffic == "write_nt"); // the faster of two with one mix
  CHECK(ceiling(100, 0).origin == "measured");
  CHECK(roofs.memory.back().bytes_per_s == 50e9);
  const Roofs reading = at_mix(roofs, 90, 10);
  CHECK(reading.memory.back().bytes_per_s == 28e9);
  CHECK(reading.memory.back().traffic == "read");

  auto cost = tests::launch_cost("a", "matmul", 10, 0, 0, 50'000'000, 1'000'000, 51'000'000);
  CHECK(*time_bounds(cost, roofs).memory_s == Catch::Approx(51e6 / 28e9));
  CHECK(time_bounds(cost, roofs).traffic == "read");
  cost.bytes.written = 50'000'000;
  CHECK(*time_bounds(cost, roofs).memory_s == Catch::Approx(100e6 / 30e9));
  profilers::Record record = tests::counted_record();
  record.launches = {{cost, "", {}}};
  tests::add_totals(record);
  derive(record, roofs);
  CHECK(record.roof.roof_traffic == "copy");
}

TEST_CASE("a ceiling of any traffic serves every mix") {
  tests::FakeFiles files;
  const Roofs roofs = roofs_at(find_hardware(files, "h200-sxm").machine, "f32", 1);
  CHECK(roofs.memory.back().ceiling_of(0, 100).bytes_per_s == 4.8e12);
  CHECK(roofs.memory.back().ceiling_of(100, 0).traffic.empty());
}

TEST_CASE("the overhead of a launch belongs to the machine that it was measured on") {
  profilers::Machine machine = two_cores();
  machine.launch_overheads = {{1, 50e-9}, {2, 3e-6}};
  CHECK(*roofs_at(machine, "f32", 1).launch_overhead_s == 50e-9);
  CHECK(*roofs_at(machine, "f32", 2).launch_overhead_s == 3e-6);
  profilers::Record record = tests::counted_record();
  record.config.set("device", std::string("cuda"));
  CHECK_FALSE(roofs_for(machine, record).launch_overhead_s);
}

TEST_CASE("BUG-094: f32 is never held against a bf16 or tensor peak") {
  CHECK(roofs_at(two_cores(), "f32", 1).matrix->per_s == 100e9);
  CHECK(roofs_at(two_cores(), "bf16", 1).matrix->per_s == 200e9);
  CHECK(roofs_at(two_cores(), "f16", 1).matrix->per_s == 100e9);
}

TEST_CASE("threads: used, else asked for, else all, never more than can run") {
  const profilers::Machine machine = two_cores();
  profilers::Record record;
  CHECK(roof_threads(machine, record) == 2);
  record.config.set("threads", std::int64_t{1});
  CHECK(roof_threads(machine, record) == 1);
  record.threads = 64;
  CHECK(roof_threads(machine, record) == 2);
}

TEST_CASE("a case of another device is not held against the host's ceilings") {
  profilers::Record record = tests::counted_record();
  record.config.set("device", std::string("cuda"));
  CHECK_FALSE(roofs_for(two_cores(), record).matrix);
  CHECK(roofs_for(two_cores(), record).memory.empty());
  profilers::Machine machine = two_cores();
  apply_given(machine, 500.0, 60.0);
  CHECK(roofs_for(machine, record).matrix->per_s == 500e9);
  CHECK(roofs_for(machine, record).memory.size() == 1);
  tests::FakeFiles files;
  CHECK(roofs_for(find_hardware(files, "h200-sxm").machine, record).matrix->per_s == 66.9e12);
}

TEST_CASE("a machine without measurements has no roofs") {
  const Roofs roofs = roofs_at(profilers::Machine{}, "f32", 1);
  CHECK_FALSE(roofs.matrix);
  CHECK(roofs.memory.empty());
  CHECK(roofs.level_of(1) == nullptr);
  profilers::Record record = tests::counted_record();
  predict(record, profilers::Machine{});
  CHECK_FALSE(record.roof.roof_time_s);
}

TEST_CASE("BUG-111: given ceilings are used and named, measured ones stay beside them") {
  profilers::Machine machine = two_cores();
  const std::size_t measured = machine.compute.size();
  apply_given(machine, 500.0, 60.0);
  CHECK(machine.compute.size() == measured + 1);
  const Roofs roofs = roofs_at(machine, "f32", 2);
  CHECK(roofs.matrix->per_s == 500e9);
  CHECK(roofs.matrix->origin == "given");
  CHECK(roofs.memory.back().bytes_per_s == 60e9);
  CHECK(roofs.memory.back().origin == "given");
  CHECK(roofs.memory.front().bytes_per_s == 800e9);

  profilers::Machine bare;
  apply_given(bare, 500.0, 60.0);
  const Roofs given = roofs_at(bare, "bf16", 1);
  CHECK(given.matrix->per_s == 500e9);
  REQUIRE(given.memory.size() == 1);
  CHECK_FALSE(given.memory[0].capacity_bytes);
}

TEST_CASE("BUG-096: the data sheet's dense peak gives the ridge") {
  tests::FakeFiles files;
  const Hardware h200 = find_hardware(files, "h200-sxm");
  const Roofs roofs = roofs_for(h200.machine, [] {
    profilers::Record record;
    record.config.set("dtype", std::string("bf16"));
    return record;
  }());
  CHECK(roofs.matrix->per_s / roofs.memory.back().bytes_per_s == Catch::Approx(206.0).epsilon(1e-3));
  CHECK(roofs.matrix->origin == "spec");
  CHECK(roofs_at(h200.machine, "f32", 1).matrix->per_s == 66.9e12);
}

TEST_CASE("a hardware file becomes a machine") {
  tests::FakeFiles files;
  files.texts["my.json"] = R"({"name": "box", "source": "its data sheet",
    "compute": [{"unit": "fma", "dtype": "f32", "flops_per_s": 1e12}],
    "bandwidth": [{"level": "L2", "bytes_per_s": 1e12, "capacity_bytes": 1000000},
                  {"level": "DRAM", "bytes_per_s": 100000000000}]})";
  const Hardware box = find_hardware(files, "my.json");
  CHECK(box.name == "box");
  const Roofs roofs = roofs_at(box.machine, "f32", 1);
  REQUIRE(roofs.memory.size() == 2);
  CHECK(roofs.level_of(1'000'000)->level == "L2");
  CHECK(roofs.level_of(1'000'001)->level == "DRAM");
  profilers::Record record = tests::counted_record();
  predict(record, box.machine);
  CHECK(*record.roof.roof_time_s == Catch::Approx(2e-6 + 8e-8 + 2e-5));
}

TEST_CASE("a bad hardware file is refused with the key") {
  const auto read = [](const std::string& text) { return hardware_from_json(text, "hw.json"); };
  CHECK_THROWS_WITH(read("{"), Contains("hw.json"));
  CHECK_THROWS_WITH(read(R"({"name": "x", "source": "y"})"), Contains("no ceiling"));
  CHECK_THROWS_WITH(read(R"({"source": "y"})"), Contains("'name' is missing"));
  CHECK_THROWS_WITH(
      read(R"({"name": "x", "source": "y", "compute": [{"unit": "fma", "dtype": "f32", "flops_per_s": 0}]})"),
      Contains("'flops_per_s' is 0, expected a positive number"));
  CHECK_THROWS_WITH(
      read(R"({"name": "x", "source": "y", "compute": [{"unit": "warp", "dtype": "f32", "flops_per_s": 1}]})"),
      Contains("warp") && Contains("fma, tensor, exp"));
  CHECK_THROWS_WITH(read(R"({"name": "x", "source": "y", "bandwidth": [{"level": "L2", "bytes_per_s": 1}]})"),
                    Contains("L2") && Contains("DRAM"));
  tests::FakeFiles files;
  CHECK_THROWS_WITH(find_hardware(files, "h20"), Contains("h20") && Contains("h200-sxm") && Contains("a100-sxm-80gb"));
}

TEST_CASE("roofs: products in tf32 have their own ceiling, and only where they were asked for") {
  tests::FakeFiles files;
  const profilers::Machine machine = find_hardware(files, "a100").machine;
  CHECK(roofs_at(machine, "tf32", 1).matrix->label == "tensor tf32, 1 thread");
  CHECK(roofs_at(machine, "tf32", 1).matrix->per_s == 156e12);
  CHECK(roofs_at(machine, "tf32", 1).vector->per_s == 19.5e12);
  CHECK(roofs_at(machine, "f32", 1).matrix->per_s == 19.5e12);
  CHECK(roofs_at(find_hardware(files, "v100").machine, "tf32", 1).matrix->per_s == 15.7e12);
  profilers::Record record;
  record.config.set("device", std::string("cuda"));
  record.config.set("dtype", std::string("f32"));
  record.config.set("math", std::string("tf32"));
  CHECK(roofs_for(machine, record).matrix->per_s == 156e12);
  record.config.set("math", std::string("f32"));
  CHECK(roofs_for(machine, record).matrix->per_s == 19.5e12);
}

TEST_CASE("data sheets: the sheet of a device is found by the name of its driver, and no other's") {
  CHECK(spec_sheet_of("NVIDIA H200")->name == "h200-sxm");
  CHECK(spec_sheet_of("NVIDIA A100-SXM4-80GB")->name == "a100-sxm-80gb");
  CHECK(spec_sheet_of("Tesla V100-SXM2-32GB")->name == "v100-sxm2");
  for (const char* other : {"NVIDIA H200 NVL", "NVIDIA L40", "NVIDIA A100-SXM4-40GB", "", "NVIDIA"}) {
    CHECK(spec_sheet_of(other) == nullptr);
  }
}

TEST_CASE("data sheets: every figure is positive, has its source, and the machine is made of it") {
  tests::FakeFiles files;
  CHECK(find_hardware(files, "h100").name == "h100-sxm");
  std::string last;
  for (const Hardware& one : known_hardware()) {
    INFO(one.name);
    CHECK(last < one.name);
    last = one.name;
    CHECK(one.machine.compute.size() + one.machine.bandwidth.size() == one.figures.size());
    for (const StatedFigure& figure : one.figures) {
      CHECK(figure.per_s > 1e11);
      CHECK(figure.source.size() > 10);
    }
    const Roofs roofs = roofs_at(one.machine, "f16", 1);
    CHECK(roofs.matrix);
    CHECK(roofs.memory.size() == 1);
    CHECK(roofs.matrix->per_s > roofs.memory.front().bytes_per_s);
  }
  for (const char* name : {"v100", "t4", "a100", "a6000", "l4", "h100", "h200", "b200"}) {
    CHECK(find_hardware(files, name).figures.size() >= 3);
  }
}
