#include "operators/kernels/cuda/sdpa_cudnn.hpp"

#include "operators/kernels/cuda/cuda_error.hpp"

#if defined(ATTNPROF_HAS_CUDNN)
#include <array>
#include <cudnn.h>
#include <dlfcn.h>
#endif

namespace attnprof::operators::gpu {

std::string cudnn_shape_refusal(const AttentionArgs& args) {
  if (args.squared_relu || args.masked || args.bias.address != nullptr) {
    return "masks, biases and squared-ReLU weights are not in cuDNN's unified attention node";
  }
  if (args.q.dtype == DType::kF32 || args.k.dtype != args.q.dtype || args.v.dtype != args.q.dtype ||
      args.y.dtype != args.q.dtype) {
    return "cuDNN's attention takes bf16 and f16, of one dtype";
  }
  if (args.qk_dim % 8 != 0 || args.v_dim % 8 != 0) {
    return "cuDNN's attention takes heads of multiples of 8";
  }
  for (const Operand* operand : {&args.q, &args.k, &args.v, &args.y}) {
    if (operand->strides[4] != 1) {
      return "cuDNN's attention takes heads that are dense in memory";
    }
  }
  for (const Operand* operand : {&args.q, &args.y}) {
    if (args.group > 1 && args.kv_heads > 1 && operand->strides[1] != args.group * operand->strides[2]) {
      return "the query heads of this launch are not evenly spaced";
    }
  }
  return {};
}

#if defined(ATTNPROF_HAS_CUDNN)
namespace {

constexpr std::int64_t kQueries = 'q', kKeys = 'k', kValues = 'v', kOut = 'o', kScale = 's';

} // namespace

/// The functions of the library that are used, and a handle.
struct CudnnAttention::Library {
  explicit Library(CUstream_st* stream) {
    void* library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      error = "libcudnn.so.9 was not found";
      return;
    }
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      error = function == nullptr ? std::string("libcudnn.so.9 has no ") + name : error;
    };
    load(create, "cudnnCreate");
    load(set_stream, "cudnnSetStream");
    load(make, "cudnnBackendCreateDescriptor");
    load(drop, "cudnnBackendDestroyDescriptor");
    load(set, "cudnnBackendSetAttribute");
    load(get, "cudnnBackendGetAttribute");
    load(finalize, "cudnnBackendFinalize");
    load(execute, "cudnnBackendExecute");
    if (error.empty() &&
        (create(&handle) != CUDNN_STATUS_SUCCESS || set_stream(handle, stream) != CUDNN_STATUS_SUCCESS)) {
      error = "cuDNN could not be started on this device";
    }
  }

  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) make = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) drop = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
  cudnnHandle_t handle = nullptr;
  std::string error;

  /// Everything of one plan; descriptors live as long as it.
  class Plan final : public Kernel {
   public:
    Plan(const Library& library, const AttentionArgs& args) : library_(library), scale_(args.scale) {
      addresses_ = {args.q.address, args.k.address, args.v.address, args.y.address, &scale_};
    }
    ~Plan() override {
      for (cudnnBackendDescriptor_t one : descriptors_) {
        library_.drop(one);
      }
      static_cast<void>(cudaFree(workspace_));
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    bool build(const AttentionArgs& args) {
      const cudnnDataType_t dtype = args.q.dtype == DType::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
      const std::int64_t heads = args.kv_heads * args.group;
      auto q = tensor(kQueries, {args.batch, heads, args.n_q, args.qk_dim}, query_strides(args, args.q), dtype, false);
      auto k = tensor(kKeys, {args.batch, args.kv_heads, args.n_k, args.qk_dim}, key_strides(args.k), dtype, false);
      auto v = tensor(kValues, {args.batch, args.kv_heads, args.n_k, args.v_dim}, key_strides(args.v), dtype, false);
      auto o = tensor(kOut, {args.batch, heads, args.n_q, args.v_dim}, query_strides(args, args.y), dtype, false);
      auto scale = tensor(kScale, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, true);
      auto op = descriptor(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
      put(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &q);
      put(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &k);
      put(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &v);
      put(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &o);
      put(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, &scale);
      finish(op);
      auto graph = descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
      put(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &op);
      put(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &library_.handle);
      finish(graph);
      return ok_ && choose(graph) && pack();
    }

    void start() override {
      const cudnnStatus_t status = library_.execute(library_.handle, plan_, pack_);
      if (status != CUDNN_STATUS_SUCCESS) {
        throw Error(ErrorKind::kInternal,
                    fmt::format("cuDNN's attention failed with status {}", static_cast<int>(status)));
      }
    }
    [[nodiscard]] std::string impl() const override { return fmt::format("cudnn sdpa, engine choice {}", choice_); }

   private:
    static std::array<std::int64_t, 4> query_strides(const AttentionArgs& args, const Operand& operand) {
      const std::int64_t head = args.group > 1 ? operand.strides[2] : operand.strides[1];
      return {operand.strides[0], head, operand.strides[3], 1};
    }
    static std::array<std::int64_t, 4> key_strides(const Operand& operand) {
      return {operand.strides[0], operand.strides[1], operand.strides[3], 1};
    }

    cudnnBackendDescriptor_t descriptor(cudnnBackendDescriptorType_t type) {
      cudnnBackendDescriptor_t out = nullptr;
      ok_ = ok_ && library_.make(type, &out) == CUDNN_STATUS_SUCCESS;
      if (out != nullptr) {
        descriptors_.push_back(out);
      }
      return out;
    }
    template <class Value>
    void put(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             const Value* values, std::int64_t count = 1) {
      ok_ = ok_ && library_.set(to, name, type, count, values) == CUDNN_STATUS_SUCCESS;
    }
    void finish(cudnnBackendDescriptor_t one) { ok_ = ok_ && library_.finalize(one) == CUDNN_STATUS_SUCCESS; }

    cudnnBackendDescriptor_t tensor(std::int64_t id, std::array<std::int64_t, 4> dims,
                                    std::array<std::int64_t, 4> strides, cudnnDataType_t dtype, bool by_value) {
      auto out = descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
      constexpr std::int64_t kAlignment = 16;
      put(out, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id);
      put(out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &dtype);
      put(out, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims.data(), 4);
      put(out, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.data(), 4);
      put(out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &kAlignment);
      if (by_value) {
        put(out, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &by_value);
      }
      finish(out);
      return out;
    }

    /// The first configuration of the heuristics whose plan can be made.
    bool choose(cudnnBackendDescriptor_t graph) {
      auto heuristics = descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      const cudnnBackendHeurMode_t kind = CUDNN_HEUR_MODE_A;
      put(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, &graph);
      put(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &kind);
      finish(heuristics);
      std::int64_t count = 0;
      if (!ok_ || library_.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                               nullptr) != CUDNN_STATUS_SUCCESS) {
        return false;
      }
      std::vector<cudnnBackendDescriptor_t> configs;
      for (std::int64_t i = 0; i < count; ++i) {
        configs.push_back(descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      }
      if (count == 0 || !ok_ ||
          library_.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                       configs.data()) != CUDNN_STATUS_SUCCESS) {
        return false;
      }
      for (choice_ = 0; choice_ < count; ++choice_) {
        ok_ = true;
        plan_ = descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        put(plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &library_.handle);
        put(plan_, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            &configs[static_cast<std::size_t>(choice_)]);
        finish(plan_);
        if (ok_) {
          return true;
        }
      }
      return false;
    }

    bool pack() {
      std::int64_t bytes = 0;
      std::int64_t count = 0;
      library_.get(plan_, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes);
      if (bytes > 0) {
        require(cudaMalloc(&workspace_, static_cast<std::size_t>(bytes)), "allocating cuDNN's workspace");
      }
      constexpr std::array<std::int64_t, 5> kIds = {kQueries, kKeys, kValues, kOut, kScale};
      pack_ = descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
      put(pack_, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses_.data(), 5);
      put(pack_, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kIds.data(), 5);
      put(pack_, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace_);
      finish(pack_);
      return ok_;
    }

    const Library& library_;
    float scale_;
    std::array<void*, 5> addresses_{};
    std::vector<cudnnBackendDescriptor_t> descriptors_;
    cudnnBackendDescriptor_t plan_ = nullptr, pack_ = nullptr;
    void* workspace_ = nullptr;
    std::int64_t choice_ = 0;
    bool ok_ = true;
  };
};

CudnnAttention::CudnnAttention(CUstream_st* stream) : library_(std::make_unique<Library>(stream)) {}

std::string CudnnAttention::refusal(const AttentionArgs& args) const {
  return library_->error.empty() ? cudnn_shape_refusal(args) : library_->error;
}

std::unique_ptr<Kernel> CudnnAttention::prepare(const AttentionArgs& args) {
  auto plan = std::make_unique<Library::Plan>(*library_, args);
  if (!plan->build(args)) {
    return nullptr;
  }
  return plan;
}
#else
struct CudnnAttention::Library {};

CudnnAttention::CudnnAttention(CUstream_st* /*stream*/) {}

std::string CudnnAttention::refusal(const AttentionArgs& /*args*/) const {
  return "this plugin was built without cuDNN's headers";
}

std::unique_ptr<Kernel> CudnnAttention::prepare(const AttentionArgs& /*args*/) {
  return nullptr;
}
#endif

CudnnAttention::~CudnnAttention() = default;

} // namespace attnprof::operators::gpu
