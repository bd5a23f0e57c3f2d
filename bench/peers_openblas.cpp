#include "bench/peer.hpp"

#ifdef ATTNPROF_WITH_OPENBLAS
#include <cblas.h>
#endif

namespace attnprof::bench {

#ifdef ATTNPROF_WITH_OPENBLAS
namespace {

std::function<void()> product_work(const PeerCase& which) {
  const auto* a = static_cast<const float*>(which.a);
  const auto* b = static_cast<const float*>(which.b);
  auto* y = static_cast<float*>(which.y);
  const auto m = static_cast<blasint>(which.m);
  const auto n = static_cast<blasint>(which.n);
  const auto k = static_cast<blasint>(which.k);
  const CBLAS_TRANSPOSE transposed = which.transposed ? CblasTrans : CblasNoTrans;
  return [=, threads = which.threads, batch = which.batch] {
    openblas_set_num_threads(threads);
    for (std::int64_t i = 0; i < batch; ++i) {
      if (m == 1) {
        cblas_sgemv(CblasRowMajor, transposed == CblasTrans ? CblasNoTrans : CblasTrans, which.transposed ? n : k,
                    which.transposed ? k : n, 1.0F, b, which.transposed ? k : n, a, 1, 0.0F, y, 1);
      } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed, m, n, k, 1.0F, a + i * m * k, k, b + i * n * k,
                    which.transposed ? k : n, 0.0F, y + i * m * n, n);
      }
    }
  };
}

} // namespace

PeerLibrary openblas_library() {
  return {"OpenBLAS", std::string(openblas_get_config()), std::nullopt, [](const PeerCase& which) {
            const bool is_product = which.op == PeerOp::kProduct || which.op == PeerOp::kBatched;
            // Its own threads and the kernels' would fight for the processors: one thread.
            if (!is_product || which.dtype != operators::DType::kF32 || which.threads > 1) {
              return std::vector<Contestant>{};
            }
            return std::vector<Contestant>{{"OpenBLAS", product_work(which)}};
          }};
}
#else
PeerLibrary openblas_library() {
  return {"OpenBLAS", "", "it was not found when the benchmark was configured: install libopenblas-dev", {}};
}
#endif

} // namespace attnprof::bench
