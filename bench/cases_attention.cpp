#include "bench/cases.hpp"
#include "operators/core/builder.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"

#include <fmt/format.h>

namespace attnprof::bench {
namespace {

using namespace operators;

struct Shape {
  std::int64_t heads, kv_heads, n_q, n_k, width;
  bool causal;
};

/// The core over heads that lie beside each other, as projections leave them. The eager plan copies them apart first,
/// as frameworks do; the fused plan is what the tool makes of the same graph. In decode keys and values are a cache.
Graph core(DType dtype, const Shape& shape, const std::string& plan) {
  GraphBuilder b(dtype);
  const bool decode = shape.n_q == 1;
  const auto split = [&](const std::string& leaf, const View& x, std::int64_t heads) {
    return b.layout_copy(leaf, x.split(1, heads, shape.width).transpose(0, 1).broadcast(0, 1));
  };
  const auto keys = [&](const std::string& name, const std::string& leaf) {
    return decode ? b.cache(name, {1, shape.kv_heads, shape.n_k, shape.width}, shape.n_k)
                  : split(leaf, b.input(name, {shape.n_k, shape.kv_heads * shape.width}), shape.kv_heads);
  };
  const std::int64_t group = shape.heads / shape.kv_heads;
  View q = split("q_split", b.input("a", {shape.n_q, shape.heads * shape.width}), shape.heads);
  View k = keys("b", "k_split");
  View v = keys("c", "v_split");
  if (group > 1) {
    q = q.split(1, shape.kv_heads, group);
    k = k.broadcast(2, group);
    v = v.broadcast(2, group);
  }
  const Mask mask{shape.causal, 0};
  View scores = b.matmul("scores", q, k.transpose(k.rank() - 2, k.rank() - 1), {mask, MatMul::MaskAxes::kRowsColumns});
  scores = b.scale("scale", scores, static_cast<double>(kScoreScale));
  if (shape.causal) {
    scores = b.pointwise("mask", scores, {StepFn::kMaskFill, 0.0, {}, mask});
  }
  View mixed = b.matmul("mix", b.softmax("softmax", scores), v, {mask, MatMul::MaskAxes::kRowsInner});
  mixed = group > 1 ? mixed.merge(1) : mixed;
  b.mark_output(b.layout_copy("merge", mixed.transpose(1, 2)), "y");
  return plan_launches(b.take(), plan);
}

std::string name_of(const Shape& shape) {
  return shape.n_q == 1
             ? fmt::format("decode h{}/{} past {}k d{}", shape.heads, shape.kv_heads, shape.n_k / 1024, shape.width)
             : fmt::format("attention h{}{} n{} d{}{}", shape.heads,
                           shape.heads == shape.kv_heads ? "" : fmt::format("/{}", shape.kv_heads), shape.n_q,
                           shape.width, shape.causal ? " causal" : "");
}

PeerCase peer_of(const Shape& shape, DType dtype, int threads) {
  PeerCase out;
  out.op = PeerOp::kAttention;
  out.dtype = dtype;
  out.threads = threads;
  out.batch = shape.heads;
  out.m = shape.n_q;
  out.k = shape.width;
  out.causal = shape.causal;
  return out;
}

std::string share_bar(const Shape& shape) {
  if (!shape.causal) {
    return "attention";
  }
  return shape.n_q >= 1024 ? "attention-causal" : "attention-causal-196";
}

class Attentions {
 public:
  explicit Attentions(const CaseRequest& request) : request_(request) {}

  void add(const Shape& shape, DType dtype, int threads) {
    Case out = common(name_of(shape), dtype, threads);
    out.launches = core(dtype, shape, "fused");
    out.limit = dtype == DType::kBf16 ? LimitKind::kBf16 : LimitKind::kFma;
    if (shape.n_q >= 196 && dtype == DType::kF32) {
      out.claims.push_back({share_bar(shape), Source::kLimit});
    }
    if (shape.heads == shape.kv_heads) {
      out.peer = peer_of(shape, dtype, threads);
      out.claims.push_back({"attention-peer", Source::kBestPeer});
    }
    if (threads > 1) {
      out.reference = Reference{"1 thread", out.launches, out.options};
      out.reference->options.threads = 1;
      out.claims.push_back({"threads", Source::kSpeedup});
    } else if (dtype == DType::kBf16) {
      out.reference = Reference{"f32", core(DType::kF32, shape, "fused"), out.options};
      out.claims.push_back({"attention-bf16", Source::kSpeedup});
    } else {
      out.reference = Reference{"eager", core(dtype, shape, "eager"), out.options};
      if (shape.n_q == 1024) {
        out.claims.push_back({shape.causal ? "fused-causal" : "fused", Source::kSlowdown});
      }
    }
    cases.push_back(std::move(out));
  }

  void add_decode(std::int64_t past, int threads) {
    const Shape shape{32, 8, 1, past, 128, false};
    Case out = common(name_of(shape), DType::kF32, threads);
    out.launches = core(DType::kF32, shape, "fused");
    out.limit = LimitKind::kRead;
    // Shorter caches stay in the processor's, where a share of DRAM says nothing.
    if (past * shape.kv_heads * shape.width * 8 >= std::int64_t{64} << 20) {
      out.claims.push_back({"decode", Source::kLimit});
    }
    out.reference = Reference{"eager", core(DType::kF32, shape, "eager"), out.options};
    cases.push_back(std::move(out));
  }

  /// Whole operators, projections included: the price of the cascade.
  void add_cascade(std::int64_t tokens) {
    Case out = common(fmt::format("cga over group, h4 n{}", tokens), DType::kF32, 1);
    const auto operator_of = [&](const char* variant) {
      return plan_launches(
          build(resolve(parse_case_id(fmt::format("variant={}:seq_len={}:heads=4:dim=192", variant, tokens)))),
          "fused");
    };
    out.launches = operator_of("cga");
    out.reference = Reference{"group", operator_of("group"), out.options};
    out.claims = {{"cascade", Source::kSlowdown}};
    cases.push_back(std::move(out));
  }

  /// Mixed chunks against one chunk: the length from which linear cost pays.
  void add_flash(std::int64_t tokens) {
    Case out = common(fmt::format("FLASH over FLASH-Quad, n{}", tokens), DType::kF32, 1);
    const auto operator_of = [&](const char* variant) {
      return plan_launches(build(resolve(parse_case_id(fmt::format("variant={}:seq_len={}:dim=256", variant, tokens)))),
                           "fused");
    };
    out.launches = operator_of("flash");
    out.reference = Reference{"FLASH-Quad", operator_of("gau"), out.options};
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
  const CaseRequest& request_;
};

// Tokens and widths of the range; heads so that each takes about ten milliseconds at most, longer at 4096.
constexpr Shape kShapes[] = {
    {4, 4, 49, 49, 16, false},     {8, 8, 49, 49, 32, false},      {4, 4, 196, 196, 16, false},
    {1, 1, 196, 196, 64, false},   {6, 6, 196, 196, 32, false},    {3, 3, 196, 196, 64, false},
    {12, 12, 196, 196, 64, false}, {4, 4, 196, 196, 128, false},   {4, 4, 1024, 1024, 16, false},
    {4, 4, 1024, 1024, 32, false}, {3, 3, 1024, 1024, 64, false},  {2, 2, 1024, 1024, 128, false},
    {1, 1, 4096, 4096, 64, false}, {1, 1, 4096, 4096, 128, false},
};

} // namespace

Graph fused_core(std::int64_t tokens) {
  return core(DType::kF32, {1, 1, tokens, tokens, 64, false}, "fused");
}

std::vector<Case> attention_cases(const CaseRequest& request) {
  Attentions out(request);
  if (request.small) {
    out.add({2, 2, 49, 49, 16, true}, DType::kF32, 1);
    out.add_decode(1024, 1);
    return out.cases;
  }
  for (const bool causal : {false, true}) {
    for (Shape shape : kShapes) {
      shape.causal = causal;
      out.add(shape, DType::kF32, 1);
      if (request.bf16 && shape.n_q >= 196 && shape.width == 64) {
        out.add(shape, DType::kBf16, 1);
      }
      if (shape.width == 64 && shape.n_q >= 1024 && shape.heads > 1) {
        for (const int threads : request.threads) {
          if (threads > 1) {
            out.add(shape, DType::kF32, threads);
          }
        }
      }
    }
  }
  out.add({8, 2, 512, 512, 128, true}, DType::kF32, 1);
  for (const int threads : request.threads) {
    for (const std::int64_t past : {1024, 4096, 16384}) {
      out.add_decode(past, threads);
    }
  }
  for (const std::int64_t tokens : {49, 196}) {
    out.add_cascade(tokens);
  }
  for (const std::int64_t tokens : {256, 512, 1024, 2048, 4096}) {
    out.add_flash(tokens);
  }
  return out.cases;
}

} // namespace attnprof::bench
