// Programs on a GPU: memory, encodings, errors that take the device away. And the emulation's own checks.
#include "operators/exec/gpu_executor.hpp"
#include "operators/core/builder.hpp"
#include "operators/core/error.hpp"
#include "operators/exec/encode.hpp"
#include "tests/gpu_emulation/block.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace attnprof::operators;
using namespace attnprof::tests::emulation;

namespace {

Graph two_launches(DType dtype) {
  GraphBuilder builder(dtype);
  const View x = builder.input("x", {4, 8});
  builder.mark_output(builder.softmax("s", builder.scale("c", x, 2.0)), "out");
  return builder.take();
}

ErrorKind kind_of(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::kUsage;
}

} // namespace

TEST_CASE("encode: every dtype keeps what it can hold, and f16 its subnormals and infinities", "[gpu]") {
  const std::vector<float> values = {0.0F, -0.0F, 1.0F, -1.5F, 65504.0F, 70000.0F, 6e-8F, 3e-5F, -INFINITY, NAN, 0.1F};
  const std::vector<float> f16 = {0.0F,     -0.0F,       1.0F,      -1.5F, 65504.0F,   INFINITY,
                                  0x1p-24F, 0x1.f7p-16F, -INFINITY, NAN,   0x1.998p-4F};
  std::vector<std::byte> bytes(2 * values.size());
  std::vector<float> got(values.size());
  encode(DType::kF16, values, bytes);
  decode(DType::kF16, bytes, got);
  for (std::size_t i = 0; i < f16.size(); ++i) {
    INFO(values[i]);
    CHECK((got[i] == f16[i] || (std::isnan(got[i]) && std::isnan(f16[i]))));
    CHECK(std::signbit(got[i]) == std::signbit(f16[i]));
  }
  encode(DType::kBf16, values, bytes);
  decode(DType::kBf16, bytes, got);
  CHECK(got[10] == 0x1.9ap-4F);
  CHECK(got[5] == 70144.0F);
}

TEST_CASE("gpu program: memory is counted before it is allocated, and given back", "[gpu]") {
  const auto device = std::make_shared<EmulatedDevice>();
  const auto executor = make_gpu_executor(device);
  const Graph graph = two_launches(DType::kF32);
  const std::int64_t needed = executor->memory_bytes(graph, {}).value();
  CHECK(needed >= 3 * 4 * 8 * 4);
  const std::int64_t before = device->memory_left;
  {
    const auto program = executor->prepare(graph, {});
    CHECK(before - device->memory_left == needed);
  }
  CHECK(device->memory_left == before);
  device->memory_left = needed - 1;
  CHECK(kind_of([&] { static_cast<void>(executor->prepare(graph, {})); }) == ErrorKind::kMemory);
}

TEST_CASE("gpu program: after a fault of the driver every later call is device_lost, not wrong", "[gpu]") {
  const auto device = std::make_shared<EmulatedDevice>();
  const auto executor = make_gpu_executor(device);
  const Graph graph = two_launches(DType::kF32);
  const auto program = executor->prepare(graph, {});
  device->fails_at = device->starts + 1;
  CHECK(kind_of([&] { program->run(); }) == ErrorKind::kInternal);
  CHECK(kind_of([&] { static_cast<void>(program->read(graph.find("out"))); }) == ErrorKind::kDeviceLost);
  CHECK(kind_of([&] { static_cast<void>(executor->prepare(graph, {})); }) == ErrorKind::kDeviceLost);
}

TEST_CASE("gpu program: tf32 needs a device that has it, and a library's workspace is part of the memory", "[gpu]") {
  const auto device = std::make_shared<EmulatedDevice>();
  GraphBuilder builder(DType::kF32);
  builder.mark_output(builder.matmul("p", builder.input("a", {8, 16}), builder.input("b", {16, 8})), "c");
  const Graph graph = builder.take();
  ExecOptions options;
  options.math = ProductMath::kTf32;
  const auto executor = make_gpu_executor(device);
  CHECK(executor->prepare(graph, options)->kernel_impls().front() == "own product fma 32x32 of tf32");
  CHECK(executor->prepare(graph, {})->kernel_impls().front() == "own product fma 32x32");
  const std::int64_t needed = executor->memory_bytes(graph, {}).value();
  device->workspace_asked *= 4;
  CHECK(executor->memory_bytes(graph, {}).value() == needed + 3 * device->workspace_asked / 4);
  device->described.compute_major = 7;
  CHECK(kind_of([&] { static_cast<void>(executor->prepare(graph, options)); }) == ErrorKind::kUnsupported);
  CHECK(kind_of([&] { static_cast<void>(make_cpu_executor()->prepare(graph, options)); }) == ErrorKind::kUnsupported);
}

TEST_CASE("emulation: a copy for later is not there before it is waited for, group by group", "[gpu]") {
  std::vector<int> seen;
  run_grid(Dim3(1), Dim3(1), 2 * sizeof(int), false, [&] {
    const int from[2] = {7, 8};
    auto* to = reinterpret_cast<int*>(shared_memory());
    copy_later(to, from, 4);
    commit_copies();
    copy_later(to + 1, from + 1, 4);
    commit_copies();
    seen.push_back(to[0]);
    wait_for_copies(1);
    seen.insert(seen.end(), {to[0], to[1]});
    wait_for_copies(0);
    seen.push_back(to[1]);
  });
  CHECK(seen == std::vector<int>{-1, 7, -1, 8}); // shared memory begins with all bits set
}

TEST_CASE("emulation: threads meet at barriers, and a barrier that some never reach is reported", "[gpu]") {
  std::vector<int> seen(64);
  run_grid(Dim3(2), Dim3(64), 64 * sizeof(int), false, [&] {
    auto* shared = reinterpret_cast<int*>(shared_memory());
    shared[current().flat] = static_cast<int>(current().flat + current().block.x);
    wait_for_block();
    seen[current().flat] = shared[63 - current().flat];
  });
  CHECK(seen[0] == 64); // of block 1, written by another thread
  const auto divergent = [] {
    run_grid(Dim3(1), Dim3(64), 0, false, [] {
      if (current().flat < 32) {
        wait_for_block();
      }
    });
  };
  CHECK_THROWS_WITH(divergent(), Catch::Contains("divergent barrier: 32 threads wait and 32 have ended"));
  const auto crossed = [] {
    run_grid(Dim3(1), Dim3(32), 0, false, [] { current().flat < 16 ? wait_for_block() : wait_for_warp(); });
  };
  CHECK_THROWS_WITH(crossed(), Catch::Contains("at different places"));
  const auto early = [] {
    run_grid(Dim3(1), Dim3(1), 0, false, [] {
      const int one = 1;
      copy_later(reinterpret_cast<std::byte*>(const_cast<int*>(&one)) + 1, &one, 4);
    });
  };
  CHECK_THROWS_WITH(early(), Catch::Contains("misaligned address: a multiple of 4"));
  const auto flat = [] { run_grid(Dim3(1), Dim3(32), 0, true, [] { wait_for_block(); }); };
  CHECK_THROWS_WITH(flat(), Catch::Contains("without barriers"));
}
