#pragma once
#if defined(ATTNPROF_HAS_CUDNN)
#include <cudnn.h>
#include <string>
#include <vector>

struct CUstream_st;

namespace attnprof::operators::gpu {

/// The functions of cuDNN that are used, loaded when first asked for, and a handle where there is a device.
struct CudnnLibrary {
  /// Without a stream no handle is made: descriptors work then, plans do not.
  explicit CudnnLibrary(CUstream_st* stream, bool with_handle);

  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) make = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) drop = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
  cudnnHandle_t handle = nullptr;
  std::string error; ///< why it cannot be used; empty where it can

  /// "cuDNN 9.19.0"
  [[nodiscard]] std::string name() const;
};

/// Backend descriptors that end with this. After the first call that the library refuses, all others do nothing.
class CudnnDescriptors {
 public:
  explicit CudnnDescriptors(const CudnnLibrary& library) : library_(library) {}
  ~CudnnDescriptors();
  CudnnDescriptors(const CudnnDescriptors&) = delete;
  CudnnDescriptors& operator=(const CudnnDescriptors&) = delete;

  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type);
  template <class Value>
  void put(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const Value* values, std::int64_t count = 1) {
    check(ok_ ? library_.set(to, name, type, count, values) : CUDNN_STATUS_SUCCESS);
  }
  void put(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    put(to, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &value);
  }
  void finish(cudnnBackendDescriptor_t one) { check(ok_ ? library_.finalize(one) : CUDNN_STATUS_SUCCESS); }
  [[nodiscard]] bool ok() const { return ok_; }
  /// After a refusal that has another choice.
  void forget_refusal() { ok_ = true; }

 private:
  void check(cudnnStatus_t status) { ok_ = ok_ && status == CUDNN_STATUS_SUCCESS; }

  const CudnnLibrary& library_;
  std::vector<cudnnBackendDescriptor_t> all_;
  bool ok_ = true;
};

} // namespace attnprof::operators::gpu
#endif
