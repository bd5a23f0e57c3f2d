#pragma once
#include "operators/kernels/cpu/kernel_table.hpp"

#include <cstdint>
#include <memory>

namespace attnprof::operators::cpu {

/// Whether oneDNN runs products of these sizes here: it takes those with enough rows to be bound by arithmetic, in f32,
/// and in bf16 where the processor multiplies it. Everything else is left to the own kernels, which do not convert or
/// pack for a handful of rows. Storage and planner must agree, so both ask here.
bool onednn_takes(const KernelTable& table, DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

/// The products of one MatMul launch on oneDNN, cut into row blocks whose results are still in the second-level cache
/// when the epilogue reads them. Made before memory is there. run() allocates nothing of
/// its own; oneDNN makes a few small objects in each call.
class OneDnnProduct {
 public:
  enum class Accept {
    kBlocked, ///< kernels that work in the scratch they are given
    kAny,     ///< also those that allocate in every call: for tests where the processor has no others
  };
  /// Null where strides or types are not oneDNN's, or where it would fall back to its reference implementation.
  static std::unique_ptr<OneDnnProduct> make(const MatMulArgs& args, int shares, Accept accept = Accept::kBlocked);
  ~OneDnnProduct();
  OneDnnProduct(const OneDnnProduct&) = delete;
  OneDnnProduct& operator=(const OneDnnProduct&) = delete;

  /// oneDNN's own name of what runs, such as "gemm:jit" or "brgemm:avx512_core_bf16".
  [[nodiscard]] const std::string& implementation() const;
  /// Scratch of one share, at args.scratch + share * args.scratch_stride when it runs.
  [[nodiscard]] std::int64_t scratch_bytes() const;
  void run(const MatMulArgs& args, const KernelTable& table, int share, int shares) const;

 private:
  struct State;
  explicit OneDnnProduct(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace attnprof::operators::cpu
