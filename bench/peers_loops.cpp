// Eigen and the compiler's loops as peers.
#include "bench/isa/loops.hpp"
#include "bench/peer.hpp"
#include "operators/exec/threads.hpp"
#include "profilers/mapped_buffer.hpp"

#include <algorithm>
#include <eigen3/Eigen/src/Core/util/Macros.h>
#include <fmt/format.h>
#include <memory>

namespace attnprof::bench {

namespace baseline {
const RowLoops& compiler_loops();
const RowLoops& eigen_loops();
const EigenProducts& eigen_products();
} // namespace baseline
#ifdef ATTNPROF_HAS_X86_ISAS
namespace avx2 {
const RowLoops& compiler_loops();
const RowLoops& eigen_loops();
const EigenProducts& eigen_products();
} // namespace avx2
namespace avx512 {
const RowLoops& compiler_loops();
const RowLoops& eigen_loops();
const EigenProducts& eigen_products();
} // namespace avx512
#endif

namespace {

using Team = std::shared_ptr<operators::ThreadTeam>;

template <class T>
const T* floats(const void* at) {
  return static_cast<const T*>(at);
}

/// Calls work(begin, end) for each share of [0, count).
template <class Work>
void share_out(const operators::ThreadTeam& team, Index count, Work&& work) {
  team.run([&](int share) {
    const Index begin = count * share / team.size();
    const Index end = count * (share + 1) / team.size();
    if (begin < end) {
      work(begin, end);
    }
  });
}

/// Row operations are shared out by rows; layouts and depthwise convolutions run on one thread only.
std::function<void()> row_work(const RowLoops& loops, const PeerCase& which) {
  const auto* a = floats<float>(which.a);
  const auto* b = floats<float>(which.b);
  const auto* c = floats<float>(which.c);
  auto* y = static_cast<float*>(which.y);
  const Index n = which.n;
  const Index m = which.m;
  const Team team = std::make_shared<operators::ThreadTeam>(which.threads);
  const auto by_rows = [=](auto work) -> std::function<void()> {
    return [=] { share_out(*team, m, [&](Index begin, Index end) { work(begin * n, end - begin); }); };
  };
  switch (which.op) {
  case PeerOp::kSoftmax: return by_rows([=](Index at, Index rows) { loops.softmax(a + at, y + at, rows, n); });
  case PeerOp::kLayerNorm:
    return by_rows([=](Index at, Index rows) { loops.layernorm(a + at, b, c, y + at, rows, n); });
  case PeerOp::kRmsNorm: return by_rows([=](Index at, Index rows) { loops.rmsnorm(a + at, b, y + at, rows, n); });
  case PeerOp::kGelu: return by_rows([=](Index at, Index rows) { loops.gelu(a + at, y + at, rows * n); });
  case PeerOp::kSilu: return by_rows([=](Index at, Index rows) { loops.silu(a + at, y + at, rows * n); });
  case PeerOp::kAdd: return by_rows([=](Index at, Index rows) { loops.add(a + at, b + at, y + at, rows * n); });
  default: break;
  }
  if (which.threads > 1) {
    return {};
  }
  switch (which.op) {
  case PeerOp::kHeadSplit: return [=] { loops.head_split(a, y, m, which.batch, n); };
  case PeerOp::kHeadMerge: return [=] { loops.head_merge(a, y, m, which.batch, n); };
  case PeerOp::kTranspose: return [=] { loops.transpose(a, y, m, n); };
  case PeerOp::kDepthwise: {
    // Taps come as [channels][kernel * kernel]; the loops want channels last.
    const auto taps = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n * which.k * which.k));
    for (Index channel = 0; channel < n; ++channel) {
      for (Index i = 0; i < which.k * which.k; ++i) {
        (*taps)[static_cast<std::size_t>(i * n + channel)] = b[channel * which.k * which.k + i];
      }
    }
    return [=] { loops.depthwise(a, taps->data(), c, y, which.batch, m, n, which.k); };
  }
  default: return {};
  }
}

/// Attention as products of whole score matrices with a softmax between them, head by head.
std::function<void()> eigen_attention(const EigenProducts& products, const RowLoops& loops, const PeerCase& which) {
  const Index n = which.m;
  const Index width = which.k;
  const Index row = which.batch * width;
  const auto* q = floats<float>(which.a);
  const auto* k = floats<float>(which.b);
  const auto* v = floats<float>(which.c);
  auto* y = static_cast<float*>(which.y);
  const auto scores = std::make_shared<profilers::MappedBuffer>(static_cast<std::size_t>(4 * n * n));
  scores->touch(0.0F);
  return [=, causal = which.causal, heads = which.batch] {
    float* s = scores->floats().data();
    for (Index h = 0; h < heads; ++h) {
      const Index at = h * width;
      products.product(q + at, row, k + at, row, true, kScoreScale, s, n, n, n, width);
      for (Index i = 0; causal && i < n; ++i) {
        std::fill(s + i * n + i + 1, s + (i + 1) * n, -1e30F);
      }
      loops.softmax(s, s, n, n);
      products.product(s, n, v + at, row, false, 1.0F, y + at, row, n, width, n);
    }
  };
}

std::function<void()> eigen_work(const EigenProducts& products, const RowLoops& loops, const PeerCase& which) {
  const auto* a = floats<float>(which.a);
  const auto* b = floats<float>(which.b);
  auto* y = static_cast<float*>(which.y);
  const Index m = which.m;
  const Index n = which.n;
  const Index k = which.k;
  const Team team = std::make_shared<operators::ThreadTeam>(which.threads);
  switch (which.op) {
  case PeerOp::kProduct:
    return [=] {
      share_out(*team, m, [&](Index begin, Index end) {
        products.product(a + begin * k, k, b, n, false, 1.0F, y + begin * n, n, end - begin, n, k);
      });
    };
  case PeerOp::kBatched:
    return [=, transposed = which.transposed, batch = which.batch] {
      share_out(*team, batch, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
          products.product(a + i * m * k, k, b + i * n * k, transposed ? k : n, transposed, 1.0F, y + i * m * n, n, m,
                           n, k);
        }
      });
    };
  case PeerOp::kAttention: return which.threads > 1 ? std::function<void()>() : eigen_attention(products, loops, which);
  default: return row_work(loops, which);
  }
}

std::vector<Contestant> as_contestants(const std::string& name, std::function<void()> work) {
  return work ? std::vector<Contestant>{{name, std::move(work)}} : std::vector<Contestant>{};
}

struct Loops {
  const RowLoops* compiler;
  const RowLoops* eigen;
  const EigenProducts* products;
};
Loops loops_of(const std::string& isa) {
#ifdef ATTNPROF_HAS_X86_ISAS
  if (isa == "avx2") {
    return {&avx2::compiler_loops(), &avx2::eigen_loops(), &avx2::eigen_products()};
  }
  if (isa == "avx512") {
    return {&avx512::compiler_loops(), &avx512::eigen_loops(), &avx512::eigen_products()};
  }
#endif
  static_cast<void>(isa);
  return {&baseline::compiler_loops(), &baseline::eigen_loops(), &baseline::eigen_products()};
}

} // namespace

PeerLibrary eigen_library(const std::string& isa) {
  const Loops loops = loops_of(isa);
  return {"Eigen", fmt::format("{}.{}.{} {}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, isa),
          std::nullopt, [loops](const PeerCase& which) {
            if (which.dtype != operators::DType::kF32) {
              return std::vector<Contestant>{};
            }
            return as_contestants("Eigen", eigen_work(*loops.products, *loops.eigen, which));
          }};
}

PeerLibrary compiler_library(const std::string& isa) {
  const Loops loops = loops_of(isa);
  return {"compiler", fmt::format("{} {} -O3 -ffast-math", __VERSION__, isa), std::nullopt,
          [loops](const PeerCase& which) {
            if (which.dtype != operators::DType::kF32) {
              return std::vector<Contestant>{};
            }
            return as_contestants("compiler", row_work(*loops.compiler, which));
          }};
}

} // namespace attnprof::bench
