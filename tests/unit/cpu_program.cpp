#include "tests/unit/allocations.hpp"
#include "tests/unit/cpu_testing.hpp"

#include "operators/exec/threads.hpp"
#include "operators/exec/workspace.hpp"

#include <fmt/format.h>
#include <sched.h>

using namespace attnprof::operators;
using namespace attnprof::tests;

namespace {

/// One launch of every primitive, tiled and decoding attention, packed and unpacked products.
Graph every_primitive(DType dtype) {
  GraphBuilder builder(dtype);
  const View x = builder.input("x", {50, 64});
  View y = builder.layernorm("ln", x, builder.weight("g", {64}), builder.weight("b", {64}), 1e-5);
  y = builder.linear("fc", y, builder.weight("w", {64, 64}), builder.weight("c", {64}));
  y = builder.activation("gelu", y, StepFn::kGelu);
  y = builder.layout_copy("split", y.split(1, 4, 16).transpose(0, 1));
  y = builder.rope("rope", y, builder.rope_table(50, 16, 0));
  View scores = builder.matmul("scores", y, y.transpose(1, 2));
  scores = builder.pointwise("mask", scores, {StepFn::kMaskFill, 0.0, {}, Mask{true, 0}});
  View mixed = builder.matmul("mix", builder.softmax("softmax", scores), y);
  mixed = builder.layout_copy("merge", mixed.transpose(0, 1)).merge(1);
  const View image = builder.depthwise_conv2d("dw", mixed.split(0, 5, 10).broadcast(0, 1),
                                              builder.weight("dw", {64, 3, 3}), builder.weight("db", {64}), 1, 1);
  View row = builder.add("residual", image.merge(0).merge(0), x);
  row = builder.matmul("gemv", row.slice(0, 3, 1), builder.weight("v", {64, 30}));
  builder.mark_output(row, "row");
  const View heads = y.broadcast(0, 1);
  const View flash = builder.temporary({1, 4, 1, 50, 16});
  const View decode = builder.temporary({1, 4, 1, 1, 16});
  builder.mark_output(flash, "flash");
  builder.mark_output(decode, "decode");
  Graph graph = builder.take();
  graph.ops.push_back(
      {"attention", Attention{heads.broadcast(2, 1), heads, heads, flash, 0.25, Mask{true, 0}, {16, 32}, {}, {}}});
  graph.ops.push_back(
      {"decode",
       Attention{heads.broadcast(2, 1).slice(3, 49, 1), heads, heads, decode, 0.25, Mask{}, {16, 32}, {}, {}}});
  return graph;
}

cpu_set_t mask_of_this_thread() {
  cpu_set_t out;
  CPU_ZERO(&out);
  REQUIRE(sched_getaffinity(0, sizeof(out), &out) == 0);
  return out;
}

} // namespace

TEST_CASE("cpu program: every primitive in sequence equals the reference", "[cpu]") {
  check_everywhere(every_primitive(DType::kF32), 1e-5);
  check_everywhere(every_primitive(DType::kBf16), 0.05); // a dozen roundings to eight bits in sequence
}

TEST_CASE("cpu program: run and run_launch allocate nothing, and oneDNN only its lists of arguments", "[cpu]") {
  for (CpuSetting setting : cpu_settings()) {
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      for (const Products products : {Products::kOwn, Products::kByRule}) {
        const Graph graph = every_primitive(dtype);
        const auto program = make_cpu_executor()->prepare(graph, {setting.threads, setting.isa, 1, products});
        program->run(); // the thread runtime makes its workers at the first region
        const std::int64_t before = allocations;
        const std::int64_t large_before = large_allocations;
        program->run();
        for (std::size_t i = 0; i < graph.ops.size(); ++i) {
          program->run_launch(i);
        }
        const std::int64_t after = allocations;
        const auto& impls = program->kernel_impls();
        const auto calls = std::count_if(impls.begin(), impls.end(),
                                         [](const std::string& impl) { return impl.starts_with("onednn"); });
        CHECK((products == Products::kByRule || calls == 0));
        CHECK(large_allocations - large_before == 0);
        CHECK(after - before <= 2 * calls * setting.threads * 16);
      }
    }
  }
#if !defined(__SANITIZE_ADDRESS__)
  const std::int64_t before = allocations;
  const std::vector<int> proof(1000, 1);
  CHECK(allocations - before + proof[0] - 1 > 0); // the count counts
#endif
}

TEST_CASE("cpu program: one launch after another equals one run", "[cpu]") {
  const Graph graph = every_primitive(DType::kF32);
  const auto executor = make_cpu_executor();
  const auto whole = executor->prepare(graph, {2, "", 3});
  const auto single = executor->prepare(graph, {2, "", 3});
  whole->run();
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    single->run_launch(i);
  }
  for (const char* name : {"row", "flash", "decode"}) {
    CHECK(whole->read(graph.find(name)) == single->read(graph.find(name)));
  }
}

TEST_CASE("cpu program: repeated runs give the same bits", "[cpu]") {
  const Graph graph = every_primitive(DType::kF32);
  const auto program = make_cpu_executor()->prepare(graph, {2, "", 3});
  program->run();
  const std::vector<float> first = program->read(graph.find("flash"));
  program->run();
  CHECK(program->read(graph.find("flash")) == first);
}

TEST_CASE("cpu program: each launch names the kernel that runs", "[cpu]") {
  const Graph graph = every_primitive(DType::kF32);
  const auto program = make_cpu_executor()->prepare(graph, {1, "baseline", 1});
  REQUIRE(program->kernel_impls().size() == graph.ops.size());
  for (const std::string& impl : program->kernel_impls()) {
    CHECK(impl.find("baseline") != std::string::npos);
  }
  CHECK(program->kernel_impls()[0] == "own layernorm baseline");
}

TEST_CASE("cpu executor: memory_bytes is what tensors and scratch occupy", "[cpu]") {
  const Graph graph = every_primitive(DType::kF32);
  const auto executor = make_cpu_executor();
  const ExecOptions options{2, "", 1};
  const std::int64_t bytes = executor->memory_bytes(graph, options).value();
  const auto program = executor->prepare(graph, options);
  // All tensors lie within one block of that size.
  const std::byte* low = nullptr;
  const std::byte* high = nullptr;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (const auto memory = program->memory(static_cast<TensorId>(i))) {
      low = low == nullptr ? memory->data() : std::min(low, memory->data());
      high = std::max(high, memory->data() + memory->size());
    }
  }
  CHECK(high - low <= bytes);
  CHECK(bytes < (high - low) + 2 * 400 * 1024); // two shares of scratch for blocks of this size
  // Counting a graph that no machine could hold allocates nothing.
  GraphBuilder builder(DType::kF32);
  const View y = builder.activation("a", builder.input("x", {std::int64_t{1} << 40, 4}), StepFn::kRelu);
  builder.mark_output(y, "out");
  CHECK(executor->memory_bytes(builder.graph(), options).value() >= std::int64_t{1} << 45);
  CHECK_THROWS_WITH(executor->prepare(builder.graph(), options),
                    Catch::Contains("bytes") && Catch::Contains("smaller"));
}

TEST_CASE("cpu executor: what it cannot run is said in a sentence", "[cpu]") {
  const auto executor = make_cpu_executor();
  GraphBuilder builder(DType::kF16);
  builder.mark_output(builder.activation("a", builder.input("activations", {4, 4}), StepFn::kRelu), "out");
  REQUIRE(executor->unsupported(builder.graph()));
  CHECK_THAT(*executor->unsupported(builder.graph()), Catch::Contains("f16") && Catch::Contains("activations"));
  CHECK_THROWS_AS(executor->prepare(builder.graph(), {1, "", 1}), Error);
  const Graph graph = every_primitive(DType::kF32);
  CHECK_FALSE(executor->unsupported(graph));
  CHECK_THROWS_WITH(executor->prepare(graph, {1, "sse9", 1}), Catch::Contains("sse9") && Catch::Contains("baseline"));
  CHECK_THROWS_WITH(executor->prepare(graph, {0, "", 1}), Catch::Contains("0 threads"));
  if (cpu::runnable_isas().back() == "avx2") {
    CHECK_THROWS_WITH(executor->prepare(graph, {1, "avx512", 1}), Catch::Contains("cannot run instruction set avx512"));
  }
}

TEST_CASE("workspace: intermediates share memory only where their lifetimes allow", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  View x = builder.input("x", {1000, 100});
  for (int i = 0; i < 12; ++i) {
    x = builder.activation("a", x, StepFn::kRelu);
  }
  builder.mark_output(x, "out");
  const Graph graph = builder.take();
  const std::vector<std::int64_t> bytes(graph.tensors.size(), 400'000);
  const WorkspacePlan plan = plan_workspace(graph, bytes, 1000);
  // Input, output, and two intermediates at a time, instead of thirteen tensors.
  CHECK(plan.bytes >= 4 * 400'000);
  CHECK(plan.bytes < 5 * 400'000);
  for (std::size_t i = 1; i + 2 < graph.tensors.size(); ++i) { // neighbours are alive together
    CHECK(std::abs(plan.offsets[i] - plan.offsets[i + 1]) >= 400'000);
  }
  for (const std::int64_t offset : plan.offsets) {
    CHECK(offset % 64 == 0);
  }
  CHECK(plan.scratch_offset + 1000 == plan.bytes);
}

TEST_CASE("workspace: large tensors start at different offsets within a page", "[cpu]") {
  GraphBuilder builder(DType::kF32);
  for (int i = 0; i < 8; ++i) {
    builder.input(fmt::format("x{}", i), {4096});
  }
  const Graph graph = builder.take();
  const WorkspacePlan plan = plan_workspace(graph, std::vector<std::int64_t>(8, 4096 * 4), 0);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(plan.offsets[i] % 4096 != plan.offsets[j] % 4096);
    }
  }
}

TEST_CASE("threads: each share runs once, bound to its own processor, and the caller is released", "[cpu]") {
  const cpu_set_t before = mask_of_this_thread();
  const std::size_t processors = usable_processors().size();
  {
    const ThreadTeam team(static_cast<int>(processors));
    std::vector<int> runs(processors, 0);
    std::vector<int> bound(processors, 0);
    team.run([&](int share) {
      const cpu_set_t mask = mask_of_this_thread();
      ++runs[static_cast<std::size_t>(share)];
      bound[static_cast<std::size_t>(share)] = CPU_COUNT(&mask);
    });
    CHECK(runs == std::vector<int>(processors, 1));
    CHECK(bound == std::vector<int>(processors, 1));
    // A second team sees all processors, not the one that the first bound this thread to.
    CHECK(usable_processors().size() == processors);
  }
  const cpu_set_t after = mask_of_this_thread();
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("threads: more shares than processors all run", "[cpu]") {
  const ThreadTeam team(static_cast<int>(usable_processors().size()) + 3);
  std::atomic<int> runs{0};
  team.run([&](int) { ++runs; });
  CHECK(runs == team.size());
}
