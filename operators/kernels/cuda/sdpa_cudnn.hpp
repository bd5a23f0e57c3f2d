#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <memory>
#include <string>

struct CUstream_st;

namespace attnprof::operators::gpu {

/// cuDNN's fused attention, loaded when first asked for; the plugin does not need the library.
class CudnnAttention {
 public:
  explicit CudnnAttention(CUstream_st* stream);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// Why this launch is not for it, or the library not there; empty where it may be tried.
  [[nodiscard]] std::string refusal(const AttentionArgs& args) const;
  /// Null where cuDNN has no engine for the shape.
  std::unique_ptr<Kernel> prepare(const AttentionArgs& args);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// Why cuDNN's unified attention node does not express this launch; empty where it does. Needs no library.
std::string cudnn_shape_refusal(const AttentionArgs& args);

} // namespace attnprof::operators::gpu
