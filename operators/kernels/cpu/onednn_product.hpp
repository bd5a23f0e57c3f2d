#pragma once
#include "operators/kernels/cpu/kernel_table.hpp"

#include <cstdint>
#include <memory>

namespace attnprof::operators::cpu {

/// Whether oneDNN has its AVX2 1x1 convolution here, from k to n channels with weights in blocks of 8 x 8.
bool has_onednn_convolution(std::int64_t n, std::int64_t k);

/// The products of one MatMul launch on oneDNN, cut into row blocks whose results are still in the second-level cache
/// when the epilogue reads them: matmul primitives, or 1x1 convolutions where the right factor is stored for them. Made
/// before memory is there. run() allocates nothing of its own; oneDNN makes about a dozen small objects in each call,
/// which its interface does not let a caller avoid.
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

  /// oneDNN's own name of what runs, such as "jit_1x1:avx2" or "brgemm:avx512_core_bf16".
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
