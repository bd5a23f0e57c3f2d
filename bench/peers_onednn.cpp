#include "bench/peer.hpp"
#include "profilers/mapped_buffer.hpp"

#include <cmath>
#include <dnnl.hpp>
#include <fmt/format.h>
#include <memory>
#include <omp.h>

namespace attnprof::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Dims = memory::dims;

/// Primitives of one case and what they run on, shared by its contestants.
class Primitives {
 public:
  Primitives(const PeerCase& which) : which_(which) {
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    omp_set_num_threads(which.threads);
  }

  memory::data_type type() const {
    return which_.dtype == operators::DType::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
  }
  memory at(const memory::desc& desc, const void* address) const { return {desc, engine, const_cast<void*>(address)}; }
  /// Memory of its own, in huge pages and touched.
  memory own(const memory::desc& desc) {
    buffers_.push_back(std::make_unique<profilers::MappedBuffer>(std::max<std::size_t>(desc.get_size(), 4096)));
    buffers_.back()->touch(0.0F);
    return {desc, engine, buffers_.back()->bytes()};
  }
  /// The same values in the layout that a primitive wants.
  memory reordered(memory from, const memory::desc& wanted) {
    if (from.get_desc() == wanted) {
      return from;
    }
    memory to = own(wanted);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return to;
  }

  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };
  template <class Description>
  void add(const Description& description, const dnnl::primitive& primitive,
           std::unordered_map<int, memory> arguments) {
    arguments.emplace(DNNL_ARG_SCRATCHPAD, own(description.scratchpad_desc()));
    steps_.push_back({primitive, std::move(arguments)});
    const std::string impl = description.impl_info_str();
    impls_ += (impls_.empty() ? "" : "+") + impl;
    reference_ = reference_ || impl.starts_with("ref");
  }
  void run() const {
    omp_set_num_threads(which_.threads);
    for (const Step& step : steps_) {
      step.primitive.execute(stream, step.arguments);
    }
  }
  /// It falls back to a reference kernel silently, which measures nothing worth knowing.
  [[nodiscard]] bool is_reference() const { return reference_; }
  [[nodiscard]] const std::string& impls() const { return impls_; }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  mutable dnnl::stream stream{engine};
  dnnl::primitive_attr attributes;

 private:
  PeerCase which_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<profilers::MappedBuffer>> buffers_;
  std::string impls_;
  bool reference_ = false;
};
using Shared = std::shared_ptr<Primitives>;

Contestant contestant(const std::string& what, const Shared& primitives) {
  return {fmt::format("oneDNN {} {}", what, primitives->impls()), [primitives] { primitives->run(); }};
}

void add_matmul(Primitives& p, const memory& a, const memory& b, const memory& y, bool packed, float scale) {
  dnnl::primitive_attr attributes; // a copy of p's would share them: the scale would reach the primitives that follow
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (scale != 1.0F) {
    attributes.set_output_scales(0, {scale});
  }
  const memory::desc weights =
      packed ? memory::desc(b.get_desc().dims(), b.get_desc().data_type(), Tag::any) : b.get_desc();
  const dnnl::matmul::primitive_desc description({a.get_desc(), weights, y.get_desc()}, attributes, p.engine);
  p.add(description, dnnl::matmul(description),
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, p.reordered(b, description.weights_desc())}, {DNNL_ARG_DST, y}});
}

Shared product(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  add_matmul(*p, p->at({{which.m, which.k}, p->type(), Tag::ab}, which.a),
             p->at({{which.k, which.n}, p->type(), Tag::ab}, which.b),
             p->at({{which.m, which.n}, p->type(), Tag::ab}, which.y), true, 1.0F);
  return p;
}

/// Rows are pixels, columns are channels.
Shared convolution(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  const memory x = p->at({{1, which.k, which.m, 1}, p->type(), Tag::nhwc}, which.a);
  const memory y = p->at({{1, which.n, which.m, 1}, p->type(), Tag::nhwc}, which.y);
  const Dims taps{which.n, which.k, 1, 1};
  const dnnl::convolution_forward::primitive_desc description({dnnl::prop_kind::forward_inference,
                                                               dnnl::algorithm::convolution_direct,
                                                               x.get_desc(),
                                                               memory::desc(taps, p->type(), Tag::any),
                                                               y.get_desc(),
                                                               {1, 1},
                                                               {0, 0},
                                                               {0, 0}},
                                                              p->attributes, p->engine);
  const memory weights = p->at({taps, p->type(), Dims{1, which.n, 1, 1}}, which.b); // [k][n] read as [n][k]
  p->add(description, dnnl::convolution_forward(description),
         {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, p->reordered(weights, description.weights_desc())}, {DNNL_ARG_DST, y}});
  return p;
}

Contestant sgemm(const PeerCase& which) {
  return {"oneDNN sgemm", [which] {
            omp_set_num_threads(which.threads);
            dnnl_sgemm('N', 'N', which.m, which.n, which.k, 1.0F, static_cast<const float*>(which.a), which.k,
                       static_cast<const float*>(which.b), which.n, 0.0F, static_cast<float*>(which.y), which.n);
          }};
}

Shared batched(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  const Dims right{which.batch, which.k, which.n};
  add_matmul(*p, p->at({{which.batch, which.m, which.k}, p->type(), Tag::abc}, which.a),
             p->at({right, p->type(), which.transposed ? Tag::acb : Tag::abc}, which.b),
             p->at({{which.batch, which.m, which.n}, p->type(), Tag::abc}, which.y), false, 1.0F);
  return p;
}

void add_softmax(Primitives& p, const memory& x, const memory& y) {
  const int axis = static_cast<int>(x.get_desc().dims().size()) - 1;
  const dnnl::softmax_forward::primitive_desc description({dnnl::prop_kind::forward_inference, x.get_desc(), axis},
                                                          p.attributes, p.engine);
  p.add(description, dnnl::softmax_forward(description), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
}

void add_binary(Primitives& p, const memory& x, const memory& z, const memory& y) {
  const dnnl::binary::primitive_desc description(
      {dnnl::algorithm::binary_add, x.get_desc(), z.get_desc(), y.get_desc()}, p.attributes, p.engine);
  p.add(description, dnnl::binary(description), {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, z}, {DNNL_ARG_DST, y}});
}

void add_reorder(Primitives& p, const memory& from, const memory& to) {
  const dnnl::reorder::primitive_desc description(from, to, p.attributes);
  p.add(description, dnnl::reorder(description), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

/// Heads brought apart, scores, mask, softmax, mix, heads brought together, as primitives one after another: its fast
/// products take no heads that lie beside each other, and its fused graph comes with version 3.
Shared attention(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  const Dims dims{which.batch, which.m, which.k};
  const memory::desc beside(dims, p->type(), Dims{which.k, which.batch * which.k, 1});
  const memory::desc apart(dims, p->type(), Tag::abc);
  const memory q = p->own(apart);
  const memory k = p->own(apart);
  const memory v = p->own(apart);
  const memory mixed = p->own(apart);
  const memory turned = p->at({{which.batch, which.k, which.m}, p->type(), Tag::acb}, k.get_data_handle());
  const memory scores = p->own({{which.batch, which.m, which.m}, p->type(), Tag::abc});
  add_reorder(*p, p->at(beside, which.a), q);
  add_reorder(*p, p->at(beside, which.b), k);
  add_reorder(*p, p->at(beside, which.c), v);
  add_matmul(*p, q, turned, scores, false, kScoreScale);
  if (which.causal) {
    const memory mask = p->own({{1, which.m, which.m}, memory::data_type::f32, Tag::abc});
    auto* values = static_cast<float*>(mask.get_data_handle());
    for (std::int64_t i = 0; i < which.m; ++i) {
      for (std::int64_t j = i + 1; j < which.m; ++j) {
        values[i * which.m + j] = -1e30F;
      }
    }
    add_binary(*p, scores, mask, scores);
  }
  add_softmax(*p, scores, scores);
  add_matmul(*p, scores, v, mixed, false, 1.0F);
  add_reorder(*p, mixed, p->at(beside, which.y));
  return p;
}

Shared layernorm(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  const memory x = p->at({{which.m, which.n}, p->type(), Tag::ab}, which.a);
  const memory y = p->at({{which.m, which.n}, p->type(), Tag::ab}, which.y);
  const memory::desc line({which.n}, p->type(), Tag::a);
  const dnnl::layer_normalization_forward::primitive_desc description(
      {dnnl::prop_kind::forward_inference, x.get_desc(), kNormEpsilon,
       dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift},
      p->attributes, p->engine);
  p->add(description, dnnl::layer_normalization_forward(description),
         {{DNNL_ARG_SRC, x},
          {DNNL_ARG_DST, y},
          {DNNL_ARG_SCALE, p->at(line, which.b)},
          {DNNL_ARG_SHIFT, p->at(line, which.c)}});
  return p;
}

Shared eltwise(const PeerCase& which, dnnl::algorithm algorithm, float alpha) {
  auto p = std::make_shared<Primitives>(which);
  const memory x = p->at({{which.m, which.n}, p->type(), Tag::ab}, which.a);
  const memory y = p->at({{which.m, which.n}, p->type(), Tag::ab}, which.y);
  const dnnl::eltwise_forward::primitive_desc description(
      {dnnl::prop_kind::forward_inference, algorithm, x.get_desc(), alpha, 0.0F}, p->attributes, p->engine);
  p->add(description, dnnl::eltwise_forward(description), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  return p;
}

/// A copy between two layouts of [batch, m, n].
Shared reorder(const PeerCase& which, const Dims& dims, const Dims& from, const Dims& to) {
  auto p = std::make_shared<Primitives>(which);
  const memory x = p->at({dims, p->type(), from}, which.a);
  const memory y = p->at({dims, p->type(), to}, which.y);
  const dnnl::reorder::primitive_desc description(x, y, p->attributes);
  p->add(description, dnnl::reorder(description), {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}});
  return p;
}

Shared depthwise(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  const Dims image{which.batch, which.n, which.m, which.m};
  const memory x = p->at({image, p->type(), Tag::nhwc}, which.a);
  const memory y = p->at({image, p->type(), Tag::nhwc}, which.y);
  const Dims taps{which.n, 1, 1, which.k, which.k};
  const std::int64_t pad = which.k / 2;
  const dnnl::convolution_forward::primitive_desc description({dnnl::prop_kind::forward_inference,
                                                               dnnl::algorithm::convolution_direct,
                                                               x.get_desc(),
                                                               memory::desc(taps, p->type(), Tag::any),
                                                               memory::desc({which.n}, p->type(), Tag::a),
                                                               y.get_desc(),
                                                               {1, 1},
                                                               {pad, pad},
                                                               {pad, pad}},
                                                              p->attributes, p->engine);
  const memory weights = p->at({taps, p->type(), Tag::goihw}, which.b);
  p->add(description, dnnl::convolution_forward(description),
         {{DNNL_ARG_SRC, x},
          {DNNL_ARG_WEIGHTS, p->reordered(weights, description.weights_desc())},
          {DNNL_ARG_BIAS, p->at({{which.n}, p->type(), Tag::a}, which.c)},
          {DNNL_ARG_DST, y}});
  return p;
}

Shared softmax(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  add_softmax(*p, p->at({{which.m, which.n}, p->type(), Tag::ab}, which.a),
              p->at({{which.m, which.n}, p->type(), Tag::ab}, which.y));
  return p;
}

Shared add(const PeerCase& which) {
  auto p = std::make_shared<Primitives>(which);
  const memory::desc desc({which.m, which.n}, p->type(), Tag::ab);
  add_binary(*p, p->at(desc, which.a), p->at(desc, which.b), p->at(desc, which.y));
  return p;
}

Shared primitives_of(const PeerCase& which) {
  const Dims heads{which.batch, which.m, which.n};
  const Dims apart{which.m * which.n, which.n, 1};
  const Dims beside{which.n, which.batch * which.n, 1};
  switch (which.op) {
  case PeerOp::kProduct: return product(which);
  case PeerOp::kBatched: return batched(which);
  case PeerOp::kAttention: return attention(which);
  case PeerOp::kSoftmax: return softmax(which);
  case PeerOp::kLayerNorm: return layernorm(which);
  case PeerOp::kRmsNorm: return nullptr; // comes with version 3
  case PeerOp::kGelu: return eltwise(which, dnnl::algorithm::eltwise_gelu_erf, 0.0F);
  case PeerOp::kSilu: return eltwise(which, dnnl::algorithm::eltwise_swish, 1.0F);
  case PeerOp::kAdd: return add(which);
  case PeerOp::kHeadSplit: return reorder(which, heads, beside, apart);
  case PeerOp::kHeadMerge: return reorder(which, heads, apart, beside);
  case PeerOp::kTranspose: return reorder(which, {which.m, which.n}, {which.n, 1}, {1, which.m});
  case PeerOp::kDepthwise: break;
  }
  return depthwise(which);
}

std::string name_of_op(PeerOp op) {
  switch (op) {
  case PeerOp::kProduct:
  case PeerOp::kBatched: return "matmul";
  case PeerOp::kAttention: return "composed";
  default: return "";
  }
}

/// Nothing where the library refuses the shape or would run its reference kernel.
void add_if_fast(std::vector<Contestant>& out, const std::string& name, const std::function<Shared()>& make) {
  try {
    const Shared primitives = make();
    if (primitives != nullptr && !primitives->is_reference()) {
      out.push_back(contestant(name, primitives));
    }
  } catch (const dnnl::error&) {
    return;
  }
}

std::vector<Contestant> contestants(const PeerCase& which) {
  std::vector<Contestant> out;
  add_if_fast(out, name_of_op(which.op), [&] { return primitives_of(which); });
  if (which.op == PeerOp::kProduct && which.dtype == operators::DType::kF32) {
    out.push_back(sgemm(which));
    if (which.n % 8 == 0 && which.k % 8 == 0) {
      add_if_fast(out, "convolution", [&] { return convolution(which); });
    }
  }
  return out;
}

} // namespace

PeerLibrary onednn_library() {
  const dnnl_version_t* version = dnnl_version();
  return {"oneDNN", fmt::format("{}.{}.{}", version->major, version->minor, version->patch), std::nullopt, contestants};
}

} // namespace attnprof::bench
