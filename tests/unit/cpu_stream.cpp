// Results that go past the caches. The planners ask for that only beyond the last-level cache, so the kernels are
// called directly here, on small rows.
#include "operators/kernels/cpu/kernel.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

using namespace attnprof::operators;
using namespace attnprof::operators::cpu;

namespace {

/// 64-byte aligned floats, and `shift` of them in front.
struct Floats {
  explicit Floats(std::size_t count, std::size_t shift = 0) : memory(count + shift + 16, -7.0F) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    begin = memory.data() + (64 - address % 64) % 64 / sizeof(float) + shift;
  }
  std::vector<float> memory;
  float* begin;
};

Operand operand_at(float* address, std::int64_t row, std::int64_t column = 1) {
  Operand out;
  out.address = reinterpret_cast<std::byte*>(address);
  out.row = row;
  out.column = column;
  return out;
}

using RowFn = void (*)(const RowsArgs&, int, int);

/// The same rows with and without streaming, two shares.
void check_same(RowFn fn, RowsArgs args, std::int64_t count, std::size_t shift) {
  Floats plain(static_cast<std::size_t>(count), shift);
  Floats streamed(static_cast<std::size_t>(count), shift);
  std::vector<float> scratch(4 * 2048);
  args.scratch = reinterpret_cast<std::byte*>(scratch.data());
  args.scratch_stride = 2048 * 4;
  for (Floats* y : {&plain, &streamed}) {
    args.y.address = reinterpret_cast<std::byte*>(y->begin);
    args.stream = y == &streamed;
    fn(args, 0, 2);
    fn(args, 1, 2);
  }
  for (std::int64_t i = -static_cast<std::int64_t>(shift); i < count; ++i) {
    INFO(i);
    REQUIRE(std::abs(plain.begin[i] - streamed.begin[i]) <= 1e-6F * std::abs(plain.begin[i]));
  }
  REQUIRE(streamed.begin[count - 1] != -7.0F);
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = 0.01F * static_cast<float>(i % 731) - 3.0F;
  }
  return out;
}

} // namespace

TEST_CASE("cpu streaming: softmax, norms and activations give the same values", "[cpu]") {
  for (const std::string& isa : runnable_isas()) {
    const KernelTable& table = select_kernels(isa);
    for (const std::int64_t columns : {1, 5, 16, 31, 64, 100, 768}) {
      for (const std::size_t shift : {0U, 1U, 4U}) {
        INFO(isa << " " << columns << " columns, " << shift << " floats past a line");
        constexpr std::int64_t kRows = 5;
        std::vector<float> x = ramp(static_cast<std::size_t>(kRows * columns));
        std::vector<float> gamma = ramp(static_cast<std::size_t>(columns));
        RowsArgs args;
        args.rows = kRows;
        args.columns = columns;
        args.x = operand_at(x.data(), columns);
        args.y = operand_at(nullptr, columns);
        args.gamma = operand_at(gamma.data(), 0);
        args.eps = 1e-5F;
        check_same(table.softmax, args, kRows * columns, shift);
        check_same(table.layernorm, args, kRows * columns, shift); // without beta: RMSNorm
        args.beta = operand_at(gamma.data(), 0);
        check_same(table.layernorm, args, kRows * columns, shift);
        for (const StepFn fn : {StepFn::kGelu, StepFn::kGeluTanh, StepFn::kSilu, StepFn::kRelu, StepFn::kScale,
                                StepFn::kAdd, StepFn::kMul, StepFn::kSquare}) {
          StepArgs step;
          step.fn = fn;
          step.value = 0.5F;
          if (fn == StepFn::kAdd || fn == StepFn::kMul) {
            step.operand = operand_at(x.data(), columns);
          }
          args.steps = {&step, 1};
          check_same(table.pointwise, args, kRows * columns, shift);
        }
      }
    }
  }
}

TEST_CASE("cpu streaming: copies of heads and transposes give the same values", "[cpu]") {
  for (const std::string& isa : runnable_isas()) {
    const KernelTable& table = select_kernels(isa);
    for (const std::int64_t rows : {3, 16, 48}) {
      for (const std::int64_t columns : {16, 20, 64}) {
        for (const std::size_t shift : {0U, 3U}) {
          INFO(isa << " " << rows << "x" << columns << ", " << shift << " floats past a line");
          std::vector<float> x = ramp(static_cast<std::size_t>(4 * rows * columns));
          RowsArgs args;
          args.rows = rows;
          args.columns = columns;
          args.x = operand_at(x.data(), 3 * columns);
          args.y = operand_at(nullptr, columns);
          check_same(table.copy_rows, args, rows * columns, shift);
          args.x = operand_at(x.data(), 1, rows);
          check_same(table.copy_transposed, args, rows * columns, shift);
        }
      }
    }
  }
}

TEST_CASE("cpu streaming: softmax rows that fill lines only together", "[cpu]") {
  for (const std::string& isa : runnable_isas()) {
    const KernelTable& table = select_kernels(isa);
    for (const std::int64_t columns : {1, 4, 7, 40, 100}) {
      INFO(isa << " " << columns << " columns");
      constexpr std::int64_t kRows = 53; // whole groups, and rows before and after them in both shares
      std::vector<float> x = ramp(static_cast<std::size_t>(kRows * columns));
      for (std::int64_t i = 0; i < columns; ++i) {
        x[static_cast<std::size_t>(20 * columns + i)] = -INFINITY; // nothing attended
      }
      RowsArgs args;
      args.rows = kRows;
      args.columns = columns;
      args.stage_rows = 16 / std::gcd(columns, std::int64_t{16});
      args.x = operand_at(x.data(), columns);
      args.y = operand_at(nullptr, columns);
      check_same(table.softmax, args, kRows * columns, 0);
    }
  }
}

TEST_CASE("cpu streaming: rows of several pages", "[cpu]") {
  for (const std::string& isa : runnable_isas()) {
    const KernelTable& table = select_kernels(isa);
    for (const std::int64_t columns : {4096, 4099, 9000}) {
      for (const std::size_t shift : {0U, 5U}) {
        INFO(isa << " " << columns << " columns, " << shift << " floats past a line");
        std::vector<float> x = ramp(static_cast<std::size_t>(2 * columns));
        RowsArgs args;
        args.rows = 2;
        args.columns = columns;
        args.x = operand_at(x.data(), columns);
        args.y = operand_at(nullptr, columns);
        for (const StepFn fn : {StepFn::kGelu, StepFn::kAdd}) {
          StepArgs step;
          step.fn = fn;
          step.operand = fn == StepFn::kAdd ? operand_at(x.data(), columns) : Operand{};
          args.steps = {&step, 1};
          check_same(table.pointwise, args, 2 * columns, shift);
        }
      }
    }
  }
}

TEST_CASE("cpu streaming: depthwise convolutions give the same values", "[cpu]") {
  for (const std::string& isa : runnable_isas()) {
    const KernelTable& table = select_kernels(isa);
    for (const std::int64_t width : {7, 14, 21}) {
      for (const std::int64_t kernel : {3, 5}) {
        INFO(isa << " " << width << " wide, kernel " << kernel);
        constexpr std::int64_t kChannels = 32;
        constexpr std::int64_t kImages = 2;
        constexpr std::int64_t kHeight = 6;
        const std::int64_t count = kImages * kHeight * width * kChannels;
        std::vector<float> x = ramp(static_cast<std::size_t>(count));
        std::vector<float> taps = ramp(static_cast<std::size_t>(kernel * kernel * kChannels));
        std::vector<float> scratch(40'000);
        Floats y[2] = {Floats(static_cast<std::size_t>(count)), Floats(static_cast<std::size_t>(count))};
        for (const bool stream : {false, true}) {
          DepthwiseArgs args;
          args.batch = kImages;
          args.height = args.out_height = kHeight;
          args.width = args.out_width = width;
          args.channels = kChannels;
          args.kernel_h = args.kernel_w = kernel;
          args.pad = kernel / 2;
          const std::int64_t strides[] = {kHeight * width * kChannels, width * kChannels, kChannels, 1};
          std::copy(std::begin(strides), std::end(strides), args.x_stride);
          std::copy(std::begin(strides), std::end(strides), args.y_stride);
          args.x = reinterpret_cast<std::byte*>(x.data());
          args.y = reinterpret_cast<std::byte*>(y[stream ? 1 : 0].begin);
          args.taps = reinterpret_cast<std::byte*>(taps.data());
          args.in_place = stream;
          args.stream = stream;
          args.scratch = reinterpret_cast<std::byte*>(scratch.data());
          table.depthwise(args, 0, 1);
        }
        for (std::int64_t i = 0; i < count; ++i) {
          REQUIRE(y[1].begin[i] == Catch::Approx(y[0].begin[i]).margin(1e-4));
        }
      }
    }
  }
}

TEST_CASE("cpu streaming: the bound is the size of a cache", "[cpu]") {
  CHECK(stream_bytes() >= 256 * 1024);
}
