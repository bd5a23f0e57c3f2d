#include "bench/cases.hpp"
#include "operators/core/builder.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"

#include <fmt/format.h>

namespace attnprof::bench {
namespace {

using namespace operators;

Graph weight_product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  GraphBuilder b(dtype);
  b.mark_output(b.matmul("p", b.input("a", {m, k}), b.weight("b", {k, n})), "y");
  return b.take();
}

Graph batched_product(DType dtype, const PeerCase& shape) {
  GraphBuilder b(dtype);
  const View right = shape.transposed ? b.input("b", {shape.batch, shape.n, shape.k}).transpose(1, 2)
                                      : b.input("b", {shape.batch, shape.k, shape.n});
  b.mark_output(b.matmul("p", b.input("a", {shape.batch, shape.m, shape.k}), right), "y");
  return b.take();
}

struct ProductShape {
  const char* name;
  std::int64_t m, n, k;
};

// Tokens: ViT has 197 with its class token. EfficientViT-M4 has maps of 14, 7 and 4 squared, 128, 256 and 384 channels,
// FFNs twice as wide, and projects q and k to 16 a head.
constexpr ProductShape kNetworks[] = {
    {"ViT-T projection", 197, 192, 192},     {"ViT-T FFN up", 197, 768, 192},
    {"ViT-T FFN down", 197, 192, 768},       {"ViT-S projection", 197, 384, 384},
    {"ViT-S FFN up", 197, 1536, 384},        {"ViT-S FFN down", 197, 384, 1536},
    {"ViT-B projection", 197, 768, 768},     {"ViT-B FFN up", 197, 3072, 768},
    {"ViT-B FFN down", 197, 768, 3072},      {"M4 stage 1 projection", 196, 128, 128},
    {"M4 stage 1 FFN up", 196, 256, 128},    {"M4 stage 1 FFN down", 196, 128, 256},
    {"M4 stage 2 projection", 49, 256, 256}, {"M4 stage 2 FFN up", 49, 512, 256},
    {"M4 stage 2 FFN down", 49, 256, 512},   {"M4 stage 3 projection", 16, 384, 384},
    {"M4 stage 3 FFN up", 16, 768, 384},     {"M4 stage 3 FFN down", 16, 384, 768},
};
constexpr ProductShape kSquares[] = {
    {"square 1024", 1024, 1024, 1024}, {"square 2048", 2048, 2048, 2048}, {"square 4096", 4096, 4096, 4096}};
constexpr ProductShape kLlama[] = {
    {"Llama-8B q projection", 128, 4096, 4096},
    {"Llama-8B kv projection", 128, 1024, 4096},
    {"Llama-8B FFN up", 128, 14336, 4096},
};
constexpr ProductShape kLlamaRows[] = {{"Llama-8B q projection", 1, 4096, 4096},
                                       {"Llama-8B FFN up", 1, 14336, 4096},
                                       {"Llama-8B FFN down", 1, 4096, 14336}};
constexpr ProductShape kSmall[] = {{"small product", 24, 32, 64}};

class Products {
 public:
  explicit Products(const CaseRequest& request) : request_(request) {}

  void add(const std::string& bar, const ProductShape& shape, std::int64_t batch, DType dtype, int threads) {
    Case out =
        common(fmt::format("{}{}", shape.name, batch > 1 ? fmt::format(", batch {}", batch) : ""), dtype, threads);
    const std::int64_t m = shape.m * batch;
    out.launches = weight_product(dtype, m, shape.n, shape.k);
    out.limit = shape.m == 1 ? LimitKind::kRead : compute_limit(dtype);
    out.peer = peer(PeerOp::kProduct, dtype, threads, 1, {shape.name, m, shape.n, shape.k}, false);
    claim(out, bar, dtype);
    scale(out, threads, 2.0 * static_cast<double>(m * shape.n * shape.k));
    cases.push_back(std::move(out));
  }

  void add_batched(const std::string& bar, const ProductShape& shape, std::int64_t batch, bool transposed, DType dtype,
                   int threads) {
    Case out =
        common(fmt::format("{} {}x[{}x{}x{}]{}", shape.name, batch, shape.m, shape.n, shape.k, transposed ? "T" : ""),
               dtype, threads);
    out.peer = peer(PeerOp::kBatched, dtype, threads, batch, shape, transposed);
    out.launches = batched_product(dtype, *out.peer);
    out.limit = compute_limit(dtype);
    claim(out, bar, dtype);
    scale(out, threads, 2.0 * static_cast<double>(batch * shape.m * shape.n * shape.k));
    cases.push_back(std::move(out));
  }

  /// The same product with a narrower instruction set.
  void add_isa(const ProductShape& shape) {
    Case out = common(shape.name, DType::kF32, 1);
    out.launches = weight_product(DType::kF32, shape.m, shape.n, shape.k);
    out.options.products = operators::Products::kOwn;
    out.reference = Reference{request_.narrower_isa, out.launches, out.options};
    out.reference->options.isa = request_.narrower_isa;
    out.claims = {{"avx512", Source::kSlowdown}};
    cases.push_back(std::move(out));
  }

  std::vector<Case> cases;

 private:
  [[nodiscard]] Case common(const std::string& name, DType dtype, int threads) const {
    Case out;
    out.name = name;
    out.dtype = dtype;
    out.options = {threads, request_.isa, 1, operators::Products::kByRule};
    return out;
  }
  static LimitKind compute_limit(DType dtype) { return dtype == DType::kBf16 ? LimitKind::kBf16 : LimitKind::kFma; }

  static PeerCase peer(PeerOp op, DType dtype, int threads, std::int64_t batch, const ProductShape& shape,
                       bool transposed) {
    PeerCase out;
    out.op = op;
    out.dtype = dtype;
    out.threads = threads;
    out.batch = batch;
    out.m = shape.m;
    out.n = shape.n;
    out.k = shape.k;
    out.transposed = transposed;
    return out;
  }

  static void claim(Case& out, const std::string& bar, DType dtype) {
    if (bar.empty()) {
      return;
    }
    out.claims = {{dtype == DType::kBf16 && out.limit == LimitKind::kBf16 ? "bf16" : bar, Source::kLimit},
                  {"product-peer", Source::kBestPeer}};
  }
  /// Two threads are held against one where there is a millisecond of work for them.
  static void scale(Case& out, int threads, double flops) {
    constexpr double kMillisecond = 2e8; // FLOPs, at 200 GFLOP/s
    if (threads > 1 && (flops >= kMillisecond || out.limit == LimitKind::kRead)) {
      out.reference = Reference{"1 thread", out.launches, out.options};
      out.reference->options.threads = 1;
      out.claims.push_back({"threads", Source::kSpeedup});
    }
  }

  const CaseRequest& request_;
};

void add_all(Products& products, const CaseRequest& request, DType dtype, int threads) {
  for (const std::int64_t batch : {1, 8}) {
    for (const ProductShape& shape : kNetworks) {
      // Two threads and bf16 take a part of the shapes: the others say the same again.
      const bool chosen = std::string_view(shape.name).starts_with("ViT-") && batch == 8;
      if ((threads == 1 && dtype == DType::kF32) || chosen) {
        products.add("projection", shape, batch, dtype, threads);
      }
    }
  }
  for (const ProductShape& shape : kLlama) {
    if (threads == 1 || shape.n == 4096) {
      products.add("projection", shape, 1, dtype, threads);
    }
  }
  for (const ProductShape& shape : kSquares) {
    if (threads == 1 ? dtype == DType::kF32 || shape.m < 4096 : shape.m == 1024) {
      products.add("square", shape, 1, dtype, threads);
    }
  }
  products.add_batched("scores", {"scores", 196, 196, 64}, 24, true, dtype, threads);
  products.add_batched("mix", {"mix", 196, 64, 196}, 24, false, dtype, threads);
  if (threads == 1 && dtype == DType::kF32) {
    // Their operands stay in the second-level cache: what the batches of 24 lose, they lose to memory.
    products.add_batched("", {"scores", 196, 196, 64}, 1, true, dtype, threads);
    products.add_batched("", {"mix", 196, 64, 196}, 1, false, dtype, threads);
    products.add_batched("", {"scores", 49, 49, 16}, 8, true, dtype, threads);
  }
  products.add_batched("tiny", {"scores", 49, 49, 16}, 256, true, dtype, threads);
  products.add_batched("tiny", {"mix", 49, 16, 49}, 256, false, dtype, threads);
  for (const ProductShape& shape : kLlamaRows) {
    products.add("matvec", shape, 1, dtype, threads);
  }
  static_cast<void>(request);
}

} // namespace

std::vector<Case> product_cases(const CaseRequest& request) {
  Products products(request);
  if (request.small) {
    products.add("projection", kSmall[0], 1, DType::kF32, 1);
    products.add_batched("tiny", {"scores", 49, 49, 16}, 4, true, DType::kF32, 1);
    return products.cases;
  }
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    for (const int threads : request.threads) {
      if (dtype == DType::kF32 || request.bf16) {
        add_all(products, request, dtype, threads);
      }
    }
  }
  if (!request.narrower_isa.empty()) {
    for (const ProductShape& shape : {kNetworks[1], kNetworks[7], kSquares[0]}) {
      products.add_isa(shape);
    }
  }
  return products.cases;
}

} // namespace attnprof::bench
