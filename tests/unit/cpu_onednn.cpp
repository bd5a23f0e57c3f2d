#include "operators/exec/threads.hpp"
#include "operators/kernels/cpu/onednn_product.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <vector>

using namespace attnprof::operators;
using namespace attnprof::operators::cpu;

namespace {

/// A dense product with bias and residual, its operands in memory that the test owns.
struct Product {
  std::vector<float> a, b, c, bias, residual;
  std::vector<std::byte> scratch;
  std::vector<StepArgs> steps;
  MatMulArgs args;

  Product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, bool transposed) {
    fill(a, batch * m * k, 0.37F);
    fill(b, batch * k * n, 0.91F);
    fill(bias, n, 0.13F);
    fill(residual, batch * m * n, 0.59F);
    c.resize(static_cast<std::size_t>(batch * m * n));
    args.m = m;
    args.n = n;
    args.k = k;
    args.nest.rank = 1;
    args.nest.dims[0] = batch;
    args.nest.count = batch;
    connect(args.a, a, m * k, k, 1);
    connect(args.b, b, k * n, transposed ? 1 : n, transposed ? k : 1);
    connect(args.c, c, m * n, n, 1);
    steps.resize(2);
    steps[0].fn = steps[1].fn = StepFn::kAdd;
    connect(steps[0].operand, bias, 0, 0, 1);
    connect(steps[1].operand, residual, m * n, n, 1);
    args.steps = {steps.data(), 2};
  }

  static void fill(std::vector<float>& out, std::int64_t count, float step) {
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(std::sin(step * static_cast<float>(i)));
    }
  }
  static void connect(Operand& operand, std::vector<float>& values, std::int64_t outer, std::int64_t row,
                      std::int64_t column) {
    operand.address = reinterpret_cast<std::byte*>(values.data());
    operand.outer[0] = outer;
    operand.row = row;
    operand.column = column;
  }

  [[nodiscard]] double worst_error() const {
    double worst = 0.0;
    for (std::int64_t flat = 0; flat < args.nest.count; ++flat) {
      for (std::int64_t i = 0; i < args.m; ++i) {
        for (std::int64_t j = 0; j < args.n; ++j) {
          const std::int64_t at = (flat * args.m + i) * args.n + j;
          double sum = static_cast<double>(bias[static_cast<std::size_t>(j)]) +
                       static_cast<double>(residual[static_cast<std::size_t>(at)]);
          for (std::int64_t kk = 0; kk < args.k; ++kk) {
            sum += static_cast<double>(a[static_cast<std::size_t>((flat * args.m + i) * args.k + kk)]) *
                   static_cast<double>(
                       b[static_cast<std::size_t>(flat * args.k * args.n + kk * args.b.row + j * args.b.column)]);
          }
          worst = std::max(worst, std::abs(sum - static_cast<double>(c[static_cast<std::size_t>(at)])));
        }
      }
    }
    return worst;
  }
};

} // namespace

TEST_CASE("cpu onednn: products in row blocks with their epilogue, batched and transposed, on any number of shares",
          "[cpu]") {
  const KernelTable& table = select_kernels("");
  struct Shape {
    std::int64_t batch, m, n, k;
  };
  for (const Shape& s : {Shape{1, 196, 192, 64}, Shape{1, 300, 700, 33}, Shape{3, 49, 50, 32}, Shape{5, 7, 64, 40}}) {
    for (const bool transposed : {false, true}) {
      for (const int shares : {1, 2, 3}) {
        INFO(s.batch << "x" << s.m << "x" << s.n << "x" << s.k << " transposed " << transposed << " shares " << shares);
        Product product(s.batch, s.m, s.n, s.k, transposed);
        const auto onednn = OneDnnProduct::make(product.args, shares, OneDnnProduct::Accept::kAny);
        REQUIRE(onednn != nullptr);
        product.args.scratch_stride = round_up(onednn->scratch_bytes(), 64) + 64;
        product.scratch.resize(static_cast<std::size_t>(product.args.scratch_stride * shares));
        product.args.scratch = product.scratch.data();
        const ThreadTeam team(shares);
        team.run([&](int share) { onednn->run(product.args, table, share, shares); });
        CHECK(product.worst_error() < 2e-5);
      }
    }
  }
}

TEST_CASE("cpu onednn: what it does not take is left to the own kernels", "[cpu]") {
  Product masked(1, 64, 64, 64, false);
  const RowRange keep{0, 64};
  masked.steps[1].fn = StepFn::kMaskFill;
  masked.steps[1].ranges = &keep;
  CHECK(OneDnnProduct::make(masked.args, 1, OneDnnProduct::Accept::kAny) == nullptr);

  Product strided(1, 64, 64, 64, false);
  strided.args.a.column = 2;
  CHECK(OneDnnProduct::make(strided.args, 1, OneDnnProduct::Accept::kAny) == nullptr);

  Product mixed(1, 64, 64, 64, false);
  mixed.args.b.bf16 = true;
  CHECK(OneDnnProduct::make(mixed.args, 1, OneDnnProduct::Accept::kAny) == nullptr);

  // Vectors and narrower instruction sets than the processor's.
  CHECK_FALSE(onednn_takes(select_kernels(""), DType::kF32, 1, 4096, 4096));
  CHECK_FALSE(onednn_takes(select_kernels("baseline"), DType::kF32, 1024, 1024, 1024));
}
