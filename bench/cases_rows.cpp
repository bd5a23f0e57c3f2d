#include "bench/cases.hpp"
#include "operators/core/builder.hpp"

#include <fmt/format.h>
#include <functional>

namespace attnprof::bench {
namespace {

using namespace operators;

using Build = std::function<View(GraphBuilder&)>;
/// A set of sizes: arrays of 64 MiB lie in DRAM, those of 150 to 200 KiB in the second-level cache.
struct Sizes {
  const char* name;
  std::int64_t softmax_rows, row_width, rows, side, images;
};
constexpr Sizes kDram{"DRAM", 85'600, 768, 21'845, 4096, 446};
constexpr Sizes kNear{"L2", 196, 192, 196, 192, 1};
constexpr Sizes kTiny{"small", 8, 32, 8, 32, 1};

class Rows {
 public:
  Rows(const CaseRequest& request, const Sizes& sizes, int threads)
      : request_(request), sizes_(sizes), threads_(threads) {}

  void add(const std::string& name, const std::string& bar, const PeerCase& peer, const Build& build,
           LimitKind limit = LimitKind::kCopy) {
    Case out;
    out.name = fmt::format("{} {}", name, sizes_.name);
    out.options = {threads_, request_.isa, 1, operators::Products::kByRule};
    GraphBuilder b(DType::kF32);
    b.mark_output(build(b), "y");
    out.launches = b.take();
    out.limit = limit;
    out.peer = peer;
    out.peer->threads = threads_;
    if (!bar.empty()) {
      out.claims.push_back({bar, Source::kLimit});
    }
    out.claims.push_back({"rows-peer", Source::kBestPeer});
    if (threads_ > 1) {
      out.reference = Reference{"1 thread", out.launches, out.options};
      out.reference->options.threads = 1;
      out.claims.push_back({"threads", Source::kSpeedup});
    }
    cases.push_back(std::move(out));
  }

  void add_softmax(const std::string& bar) {
    const std::int64_t rows = sizes_.softmax_rows;
    add("softmax 196", bar, shape(PeerOp::kSoftmax, 1, rows, 196), [=](GraphBuilder& b) {
      return b.softmax("s", b.input("a", {rows, 196}));
    });
  }

  void add_norms(const std::string& bar) {
    const std::int64_t rows = sizes_.rows;
    const std::int64_t width = sizes_.row_width;
    add(fmt::format("layernorm {}", width), bar, shape(PeerOp::kLayerNorm, 1, rows, width), [=](GraphBuilder& b) {
      return b.layernorm("l", b.input("a", {rows, width}), b.weight("b", {width}), b.weight("c", {width}),
                         static_cast<double>(kNormEpsilon));
    });
    add(fmt::format("rmsnorm {}", width), bar, shape(PeerOp::kRmsNorm, 1, rows, width), [=](GraphBuilder& b) {
      return b.rmsnorm("l", b.input("a", {rows, width}), b.weight("b", {width}), static_cast<double>(kNormEpsilon));
    });
  }

  void add_pointwise(const std::string& activation_bar, const std::string& add_bar) {
    const std::int64_t rows = sizes_.rows;
    const std::int64_t width = sizes_.row_width;
    add("gelu", activation_bar, shape(PeerOp::kGelu, 1, rows, width), [=](GraphBuilder& b) {
      return b.activation("p", b.input("a", {rows, width}), StepFn::kGelu);
    });
    add("silu", activation_bar, shape(PeerOp::kSilu, 1, rows, width), [=](GraphBuilder& b) {
      return b.activation("p", b.input("a", {rows, width}), StepFn::kSilu);
    });
    add("add", add_bar, shape(PeerOp::kAdd, 1, rows, width), [=](GraphBuilder& b) {
      return b.add("a", b.input("a", {rows, width}), b.input("b", {rows, width}));
    });
  }

  void add_layouts(const std::string& heads_bar, const std::string& transpose_bar) {
    const std::int64_t rows = sizes_.rows;
    const std::int64_t heads = sizes_.row_width / 64;
    const std::int64_t side = sizes_.side;
    if (heads > 0) {
      add("head split", heads_bar, shape(PeerOp::kHeadSplit, heads, rows, 64), [=](GraphBuilder& b) {
        return b.layout_copy("c", b.input("a", {rows, heads * 64}).split(1, heads, 64).transpose(0, 1));
      });
      add("head merge", heads_bar, shape(PeerOp::kHeadMerge, heads, rows, 64), [=](GraphBuilder& b) {
        return b.layout_copy("c", b.input("a", {heads, rows, 64}).transpose(0, 1));
      });
    }
    add(fmt::format("transpose {}", side), transpose_bar, shape(PeerOp::kTranspose, 1, side, side),
        [=](GraphBuilder& b) {
          return b.layout_copy("c", b.input("a", {side, side}).transpose(0, 1));
        });
  }

  void add_depthwise(std::int64_t kernel, const std::string& bar, LimitKind limit) {
    const std::int64_t images = sizes_.images;
    PeerCase peer = shape(PeerOp::kDepthwise, images, 14, 192);
    peer.k = kernel;
    add(
        fmt::format("depthwise {0}x{0} 14x14x192", kernel), bar, peer,
        [=](GraphBuilder& b) {
          return b.depthwise_conv2d("d", b.input("a", {images, 14, 14, 192}), b.weight("b", {192, kernel, kernel}),
                                    b.weight("c", {192}), 1, kernel / 2);
        },
        limit);
  }

  std::vector<Case> cases;

 private:
  static PeerCase shape(PeerOp op, std::int64_t batch, std::int64_t m, std::int64_t n) {
    PeerCase out;
    out.op = op;
    out.batch = batch;
    out.m = m;
    out.n = n;
    return out;
  }
  const CaseRequest& request_;
  Sizes sizes_;
  int threads_;
};

void append(std::vector<Case>& out, std::vector<Case>& more) {
  std::move(more.begin(), more.end(), std::back_inserter(out));
}

} // namespace

std::vector<Case> row_cases(const CaseRequest& request) {
  if (request.small) {
    Rows rows(request, kTiny, 1);
    rows.add_softmax("softmax-l2");
    rows.add_layouts("", "transpose-l2");
    return rows.cases;
  }
  std::vector<Case> out;
  for (const int threads : request.threads) {
    Rows rows(request, kDram, threads);
    rows.add_pointwise("activation", "add");
    rows.add_norms("norm");
    rows.add_softmax("softmax");
    rows.add_layouts("heads", "transpose");
    rows.add_depthwise(3, "depthwise", LimitKind::kCopy);
    append(out, rows.cases);
  }
  // In the second-level cache one thread: a launch there is too short to share out.
  Rows near(request, kNear, 1);
  near.add_pointwise("", "");
  near.add_norms("");
  near.add_softmax("softmax-l2");
  near.add_layouts("", "transpose-l2");
  near.add_depthwise(3, "depthwise-3-l2", LimitKind::kFma);
  near.add_depthwise(5, "depthwise-5-l2", LimitKind::kFma);
  append(out, near.cases);
  return out;
}

} // namespace attnprof::bench
