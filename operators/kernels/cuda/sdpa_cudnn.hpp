#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <memory>
#include <string>

struct CUstream_st;

namespace attnprof::operators::gpu {

/// cuDNN's fused attention, loaded when first asked for; the plugin does not need the library. It is given as the graph
/// of its parts, which the library recognises: product, scale, causal mask, softmax, product. Its unified node has no
/// masks before 9.21.
class CudnnAttention {
 public:
  explicit CudnnAttention(CUstream_st* stream);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// Why this launch is not for it: the shape, the library, or that it has no engine; empty where prepare() works.
  /// Addresses may be null.
  [[nodiscard]] std::string refusal(const AttentionArgs& args);
  /// Of the plan that prepare() would use; 0 where it is refused.
  [[nodiscard]] std::int64_t workspace_bytes(const AttentionArgs& args);
  /// The launch must not be refused, and has its workspace.
  std::unique_ptr<Kernel> prepare(const AttentionArgs& args);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Why cuDNN's attention does not express this launch; empty where it does. Needs no library.
std::string cudnn_shape_refusal(const AttentionArgs& args);

/// Engine configurations that cuDNN offers for a launch on the device that this JSON describes; needs the library and
/// any libcuda.so.1, but no GPU. Negative where the library is not there.
int cudnn_engines(const AttentionArgs& args, const std::string& device_json);

} // namespace attnprof::operators::gpu
