#include "operators/exec/fill.hpp"
#include "operators/exec/threads.hpp"
#include "operators/kernels/cpu/onednn_product.hpp"
#include "operators/kernels/cpu/product_rule.hpp"
#include "tests/unit/cpu_testing.hpp"

#include <cmath>
#include <vector>

using namespace attnprof::operators;
using namespace attnprof::operators::cpu;
using namespace attnprof::tests;

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
          const double apart = std::abs(sum - static_cast<double>(c[static_cast<std::size_t>(at)]));
          worst = std::isnan(apart) ? INFINITY : std::max(worst, apart); // a maximum would pass NaN over
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

  Product gap(1, 64, 64, 64, false); // a convolution's pixels lie side by side
  gap.args.b_blocks = true;
  gap.args.a.row = 72;
  CHECK(OneDnnProduct::make(gap.args, 1, OneDnnProduct::Accept::kAny) == nullptr);
}

TEST_CASE("cpu onednn: the rule names who multiplies", "[cpu]") {
  const KernelTable& widest = select_kernels("");
  const ProductShape block{DType::kF32, 197, 768, 192, true, false};
  CHECK(product_kind(select_kernels("baseline"), block, 1, Products::kByRule) == ProductKind::kOwn);
  CHECK(product_kind(widest, block, 1, Products::kOwn) == ProductKind::kOwn);
  CHECK(product_kind(widest, {DType::kF32, 1, 4096, 4096, true, false}, 1, Products::kByRule) == ProductKind::kOwn);
  CHECK(product_kind(widest, {DType::kF32, 5, 48, 48, true, false}, 1, Products::kByRule) == ProductKind::kOwn);
  if (std::string(widest.isa) != "avx2") {
    return;
  }
  const auto by_rule = [&](const ProductShape& shape, int threads) {
    return product_kind(widest, shape, threads, Products::kByRule);
  };
  CHECK(by_rule(block, 1) == ProductKind::kOneDnnConvolution);
  CHECK(by_rule(block, 8) == ProductKind::kOneDnnConvolution);
  CHECK(by_rule(block, 16) == ProductKind::kOwn); // fewer rows each than one thread needs
  CHECK(by_rule({DType::kF32, 4, 768, 768, true, false}, 1) == ProductKind::kOneDnnConvolution);
  CHECK(by_rule({DType::kF32, 4, 768, 768, true, false}, 2) == ProductKind::kOwn);
  CHECK(by_rule({DType::kBf16, 197, 768, 192, true, false}, 1) == ProductKind::kOwn);
  CHECK(by_rule({DType::kF32, 197, 770, 192, true, false}, 1) == ProductKind::kOwn);  // blocks of eight
  CHECK(by_rule({DType::kF32, 197, 768, 192, false, false}, 1) == ProductKind::kOwn); // scores and mixes of heads
  CHECK(by_rule({DType::kF32, 197, 768, 192, true, true}, 1) == ProductKind::kOwn);
}

TEST_CASE("cpu onednn: products by a weight through its 1x1 convolution, with epilogues and several batches", "[cpu]") {
  struct Shape {
    std::int64_t batch, m, n, k;
  };
  for (const Shape& s : {Shape{1, 197, 192, 64}, Shape{2, 300, 768, 32}, Shape{1, 1, 40, 48}, Shape{3, 7, 64, 40},
                         Shape{1, 66, 3072, 40}}) {
    GraphBuilder builder(DType::kF32);
    const View x = builder.input("x", {s.batch, s.m, s.k});
    const View bias = builder.weight("bias", {s.n}).broadcast(0, s.m).broadcast(0, s.batch);
    const View shared = builder.input("position", {s.m, s.n}).broadcast(0, s.batch); // keeps the batches apart
    View y = builder.matmul("p", x, builder.weight("w", {s.k, s.n}).broadcast(0, s.batch));
    builder.mark_output(y, "y");
    Graph graph = builder.take();
    std::get<MatMul>(graph.ops[0].primitive).epilogue = {
        {StepFn::kAdd, 0.0, bias, {}}, {StepFn::kGelu, 0.0, {}, {}}, {StepFn::kAdd, 0.0, shared, {}}};
    for (const int threads : {1, 2, 3}) {
      INFO(s.batch << "x" << s.m << "x" << s.n << "x" << s.k << " threads " << threads);
      const CpuSetting setting{"", threads, Products::kOneDnn};
      CHECK(worst_error(graph, setting) < 4e-6);
      const auto program = make_cpu_executor()->prepare(graph, {threads, "", 7, Products::kOneDnn});
      if (std::string(select_kernels("").isa) == "avx2") {
        CHECK(program->kernel_impls()[0] == "onednn jit_1x1:avx2");
      }
      const std::vector<float> weights = program->read(graph.find("w")); // back in row-major order
      CHECK(weights == fill_values(graph.tensor(graph.find("w")), 7));
    }
  }
}
