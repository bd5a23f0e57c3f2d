#include "operators/kernels/cuda/cudnn_library.hpp"

#if defined(ATTNPROF_HAS_CUDNN)
#include <dlfcn.h>
#include <fmt/format.h>
#include <type_traits>

namespace attnprof::operators::gpu {

CudnnLibrary::CudnnLibrary(CUstream_st* stream, bool with_handle) {
  void* library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    error = "libcudnn.so.9 was not found";
    return;
  }
  const auto load = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    error = function == nullptr ? std::string("libcudnn.so.9 has no ") + symbol : error;
  };
  load(version, "cudnnGetVersion");
  load(create, "cudnnCreate");
  load(set_stream, "cudnnSetStream");
  load(make, "cudnnBackendCreateDescriptor");
  load(drop, "cudnnBackendDestroyDescriptor");
  load(set, "cudnnBackendSetAttribute");
  load(get, "cudnnBackendGetAttribute");
  load(finalize, "cudnnBackendFinalize");
  load(execute, "cudnnBackendExecute");
  if (error.empty() && with_handle &&
      (create(&handle) != CUDNN_STATUS_SUCCESS || set_stream(handle, stream) != CUDNN_STATUS_SUCCESS)) {
    error = "cuDNN could not be started on this device";
  }
}

std::string CudnnLibrary::name() const {
  const std::size_t number = version == nullptr ? 0 : version();
  return fmt::format("cuDNN {}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
}

CudnnDescriptors::~CudnnDescriptors() {
  for (cudnnBackendDescriptor_t one : all_) {
    library_.drop(one);
  }
}

cudnnBackendDescriptor_t CudnnDescriptors::make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t out = nullptr;
  check(ok_ ? library_.make(type, &out) : CUDNN_STATUS_SUCCESS);
  if (out != nullptr) {
    all_.push_back(out);
  }
  return out;
}

} // namespace attnprof::operators::gpu
#endif
