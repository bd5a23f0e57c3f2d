#include "operators/kernels/cuda/sdpa_cudnn.hpp"

#include "operators/kernels/cuda/cuda_error.hpp"
#include "operators/kernels/cuda/cudnn_library.hpp"

#include <array>
#include <cmath>
#include <map>

namespace attnprof::operators::gpu {

std::string cudnn_shape_refusal(const AttentionArgs& args) {
  if (args.squared_relu || args.window > 0 || args.bias.address != nullptr) {
    return "cudnn: windows, biases and squared-ReLU weights are not asked of it";
  }
  if (args.masked && args.n_q > args.n_k) {
    return "cudnn: queries without any key would be NaN";
  }
  if (args.q.dtype == DType::kF32 || args.k.dtype != args.q.dtype || args.v.dtype != args.q.dtype ||
      args.y.dtype != args.q.dtype) {
    return "cudnn: takes bf16 and f16, of one dtype";
  }
  if (args.qk_dim % 8 != 0 || args.v_dim % 8 != 0) {
    return "cudnn: takes heads of multiples of 8";
  }
  constexpr std::uintptr_t kAlignment = 16;
  for (const Operand* operand : {&args.q, &args.k, &args.v, &args.y}) {
    if (operand->strides[4] != 1 || reinterpret_cast<std::uintptr_t>(operand->address) % kAlignment != 0) {
      return "cudnn: takes heads that are dense and aligned in memory";
    }
  }
  for (const Operand* operand : {&args.q, &args.y}) {
    if (args.group > 1 && args.kv_heads > 1 && operand->strides[1] != args.group * operand->strides[2]) {
      return "cudnn: the query heads of this launch are not evenly spaced";
    }
  }
  return {};
}

#if defined(ATTNPROF_HAS_CUDNN)
namespace {

using Descriptor = cudnnBackendDescriptor_t;
using Sizes = std::array<std::int64_t, 4>;

constexpr std::int64_t kQueries = 'q', kKeys = 'k', kValues = 'v', kOut = 'o', kStatistics = 't';
constexpr std::int64_t kScale = 's', kDropped = 'd', kShift = 'h';
constexpr std::int64_t kFirstVirtual = 1000;

/// What a plan depends on: everything but addresses and the scale.
std::vector<std::int64_t> shape_of(const AttentionArgs& args) {
  std::vector<std::int64_t> out = {args.batch, args.kv_heads, args.group, args.n_q,
                                   args.n_k,   args.qk_dim,   args.v_dim, static_cast<std::int64_t>(args.q.dtype),
                                   args.masked};
  for (const Operand* operand : {&args.q, &args.k, &args.v, &args.y}) {
    out.insert(out.end(), operand->strides, operand->strides + 5);
  }
  return out;
}

std::int64_t statistics_bytes(const AttentionArgs& args) {
  constexpr std::int64_t kLine = 256;
  return round_up(args.batch * args.kv_heads * args.group * args.n_q * 4, kLine);
}

/// The attention as cuDNN's graph. Its engines want the statistics of the softmax as an output, for a backward pass.
class AttentionGraph {
 public:
  AttentionGraph(CudnnDescriptors& descriptors, const AttentionArgs& args)
      : all_(descriptors), args_(args), heads_(args.kv_heads * args.group) {
    const cudnnDataType_t dtype = args.q.dtype == DType::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
    const Descriptor q = tensor(kQueries, {args.batch, heads_, args.n_q, args.qk_dim}, query_strides(args.q), dtype);
    const Descriptor k = tensor(kKeys, {args.batch, args.kv_heads, args.qk_dim, args.n_k},
                                {args.k.strides[0], args.k.strides[1], 1, args.k.strides[3]}, dtype);
    const Descriptor v = tensor(kValues, {args.batch, args.kv_heads, args.n_k, args.v_dim},
                                {args.v.strides[0], args.v.strides[1], args.v.strides[3], 1}, dtype);
    const Descriptor y = tensor(kOut, {args.batch, heads_, args.n_q, args.v_dim}, query_strides(args.y), dtype);
    const Descriptor products = scores(CUDNN_DATA_FLOAT);
    multiply(q, k, products);
    Descriptor scaled = scores(CUDNN_DATA_FLOAT);
    pointwise(CUDNN_POINTWISE_MUL, products, value(kScale, CUDNN_DATA_FLOAT), scaled);
    if (args.masked) {
      scaled = masked(scaled);
    }
    multiply(softmax(scaled, dtype), v, y);
  }

  /// Null where the library refused a part.
  Descriptor finish(cudnnHandle_t handle) {
    const Descriptor out = all_.make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    all_.put(out, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, ops_.data(),
             static_cast<std::int64_t>(ops_.size()));
    if (handle != nullptr) {
      all_.put(out, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle);
    }
    all_.finish(out);
    return all_.ok() ? out : nullptr;
  }

 private:
  [[nodiscard]] Sizes query_strides(const Operand& operand) const {
    return {operand.strides[0], args_.group > 1 ? operand.strides[2] : operand.strides[1], operand.strides[3], 1};
  }

  Descriptor tensor(std::int64_t id, const Sizes& dims, const Sizes& strides, cudnnDataType_t dtype,
                    cudnnBackendAttributeName_t trait = CUDNN_ATTR_TENSOR_UNIQUE_ID) {
    const Descriptor out = all_.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    constexpr std::int64_t kAlignment = 16;
    all_.put(out, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id);
    all_.put(out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &dtype);
    all_.put(out, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims.data(), 4);
    all_.put(out, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.data(), 4);
    all_.put(out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &kAlignment);
    if (trait != CUDNN_ATTR_TENSOR_UNIQUE_ID) {
      const bool yes = true;
      all_.put(out, trait, CUDNN_TYPE_BOOLEAN, &yes);
    }
    all_.finish(out);
    return out;
  }
  /// One number that is passed by value.
  Descriptor value(std::int64_t id, cudnnDataType_t dtype) {
    return tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, dtype, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  }
  /// [batch, heads, n_q, n_k], never stored.
  Descriptor scores(cudnnDataType_t dtype) {
    return tensor(next_id_++, {args_.batch, heads_, args_.n_q, args_.n_k},
                  {heads_ * args_.n_q * args_.n_k, args_.n_q * args_.n_k, args_.n_k, 1}, dtype,
                  CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  }
  /// [batch, heads, n_q, 1]
  Descriptor rows(std::int64_t id, bool stored) {
    return tensor(id, {args_.batch, heads_, args_.n_q, 1}, {heads_ * args_.n_q, args_.n_q, 1, 1}, CUDNN_DATA_FLOAT,
                  stored ? CUDNN_ATTR_TENSOR_UNIQUE_ID : CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  }
  Descriptor rows() { return rows(next_id_++, false); }

  void multiply(Descriptor a, Descriptor b, Descriptor c) {
    const Descriptor product = all_.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    all_.put(product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &kMath);
    all_.finish(product);
    const Descriptor op = all_.make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    all_.put(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    all_.put(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    all_.put(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    all_.put(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
    add(op);
  }

  void pointwise(cudnnPointwiseMode_t mode, Descriptor x, Descriptor b, Descriptor y, Descriptor condition = nullptr,
                 std::int64_t axis = -1) {
    const Descriptor step = all_.make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    all_.put(step, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
    all_.put(step, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &kMath);
    if (axis >= 0) {
      all_.put(step, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, &axis);
    }
    all_.finish(step);
    const Descriptor op = all_.make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    all_.put(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, step);
    all_.put(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) {
      all_.put(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    }
    if (condition != nullptr) {
      all_.put(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, condition);
    }
    all_.put(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    add(op);
  }

  void reduce(cudnnReduceTensorOp_t kind, Descriptor x, Descriptor y) {
    const Descriptor fold = all_.make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    all_.put(fold, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &kind);
    all_.put(fold, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &kMath);
    all_.finish(fold);
    const Descriptor op = all_.make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    all_.put(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    all_.put(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    all_.put(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, fold);
    add(op);
  }

  /// -inf where query + n_k - n_q < key.
  Descriptor masked(Descriptor x) {
    Descriptor query = scores(CUDNN_DATA_INT32);
    pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, query, nullptr, 2);
    if (args_.n_k != args_.n_q) {
      const Descriptor shifted = scores(CUDNN_DATA_INT32);
      pointwise(CUDNN_POINTWISE_ADD, query, value(kShift, CUDNN_DATA_INT32), shifted);
      query = shifted;
    }
    const Descriptor key = scores(CUDNN_DATA_INT32);
    pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, key, nullptr, 3);
    const Descriptor attended = scores(CUDNN_DATA_BOOLEAN);
    pointwise(CUDNN_POINTWISE_CMP_GE, query, key, attended);
    const Descriptor out = scores(CUDNN_DATA_FLOAT);
    pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, value(kDropped, CUDNN_DATA_FLOAT), out, attended);
    return out;
  }

  Descriptor softmax(Descriptor x, cudnnDataType_t dtype) {
    const Descriptor top = rows();
    reduce(CUDNN_REDUCE_TENSOR_MAX, x, top);
    const Descriptor shifted = scores(CUDNN_DATA_FLOAT);
    pointwise(CUDNN_POINTWISE_SUB, x, top, shifted);
    const Descriptor weights = scores(CUDNN_DATA_FLOAT);
    pointwise(CUDNN_POINTWISE_EXP, shifted, nullptr, weights);
    const Descriptor sum = rows();
    reduce(CUDNN_REDUCE_TENSOR_ADD, weights, sum);
    const Descriptor logarithm = rows();
    pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, logarithm);
    pointwise(CUDNN_POINTWISE_ADD, top, logarithm, rows(kStatistics, true));
    const Descriptor out = scores(dtype);
    pointwise(CUDNN_POINTWISE_DIV, weights, sum, out);
    return out;
  }

  void add(Descriptor op) {
    all_.finish(op);
    ops_.push_back(op);
  }

  static constexpr cudnnDataType_t kMath = CUDNN_DATA_FLOAT;
  CudnnDescriptors& all_;
  const AttentionArgs& args_;
  std::int64_t heads_;
  std::vector<Descriptor> ops_;
  std::int64_t next_id_ = kFirstVirtual;
};

/// Engine configurations for a graph, best first; `device` is null where the handle tells.
std::vector<Descriptor> engines_of(const CudnnLibrary& library, CudnnDescriptors& all, Descriptor graph,
                                   Descriptor device) {
  const Descriptor heuristics = all.make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t kind = CUDNN_HEUR_MODE_A;
  all.put(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  all.put(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &kind);
  if (device != nullptr) {
    all.put(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  }
  all.finish(heuristics);
  std::int64_t count = 0;
  if (!all.ok() || library.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                               nullptr) != CUDNN_STATUS_SUCCESS) {
    return {};
  }
  std::vector<Descriptor> out;
  for (std::int64_t i = 0; i < count; ++i) {
    out.push_back(all.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  }
  const bool got = count > 0 && all.ok() &&
                   library.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                               out.data()) == CUDNN_STATUS_SUCCESS;
  out.resize(got ? static_cast<std::size_t>(count) : 0);
  return out;
}

/// The first configuration whose plan can be made on this device.
struct AttentionPlan {
  AttentionPlan(const CudnnLibrary& library, const AttentionArgs& args) : all(library) {
    const Descriptor graph = AttentionGraph(all, args).finish(library.handle);
    if (graph == nullptr) {
      return;
    }
    const std::vector<Descriptor> configs = engines_of(library, all, graph, nullptr);
    for (choice = 0; choice < configs.size(); ++choice) {
      all.forget_refusal();
      const Descriptor one = all.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      all.put(one, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &library.handle);
      all.put(one, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs[choice]);
      all.finish(one);
      std::int64_t count = 0;
      if (all.ok() && library.get(one, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                  &workspace_bytes) == CUDNN_STATUS_SUCCESS) {
        plan = one;
        return;
      }
    }
  }

  CudnnDescriptors all;
  Descriptor plan = nullptr; ///< null: no engine takes it
  std::size_t choice = 0;
  std::int64_t workspace_bytes = 0; ///< beside that of the statistics
};

/// A plan with the addresses of one launch.
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const CudnnLibrary& library, std::shared_ptr<AttentionPlan> plan, const AttentionArgs& args)
      : library_(library), plan_(std::move(plan)), all_(library), scale_(args.scale),
        shift_(static_cast<std::int32_t>(args.n_k - args.n_q)) {
    std::vector<std::int64_t> ids = {kQueries, kKeys, kValues, kOut, kStatistics, kScale};
    std::vector<void*> addresses = {args.q.address, args.k.address, args.v.address,
                                    args.y.address, args.workspace, &scale_};
    if (args.masked) {
      ids.push_back(kDropped);
      addresses.push_back(&dropped_);
    }
    if (args.masked && args.n_k != args.n_q) {
      ids.push_back(kShift);
      addresses.push_back(&shift_);
    }
    void* workspace = args.workspace + statistics_bytes(args);
    pack_ = all_.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const auto count = static_cast<std::int64_t>(ids.size());
    all_.put(pack_, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses.data(), count);
    all_.put(pack_, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids.data(), count);
    all_.put(pack_, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace);
    all_.finish(pack_);
    if (!all_.ok()) {
      throw Error(ErrorKind::kInternal, "cuDNN refused the addresses of an attention that it had planned");
    }
  }
  void start() override {
    const cudnnStatus_t status = library_.execute(library_.handle, plan_->plan, pack_);
    if (status != CUDNN_STATUS_SUCCESS) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("cuDNN's attention failed with status {}", static_cast<int>(status)));
    }
  }
  [[nodiscard]] std::string impl() const override {
    return fmt::format("cudnn sdpa, {}, engine choice {}", library_.name(), plan_->choice);
  }

 private:
  const CudnnLibrary& library_;
  std::shared_ptr<AttentionPlan> plan_;
  CudnnDescriptors all_;
  float scale_;
  float dropped_ = -INFINITY;
  std::int32_t shift_;
  Descriptor pack_ = nullptr;
};

} // namespace

struct CudnnAttention::State {
  explicit State(CUstream_st* stream) : library(stream, true) {}
  /// Plans are made once a shape: sizes are asked for before addresses are known.
  std::shared_ptr<AttentionPlan> plan_of(const AttentionArgs& args) {
    std::shared_ptr<AttentionPlan>& plan = plans[shape_of(args)];
    if (plan == nullptr) {
      plan = std::make_shared<AttentionPlan>(library, args);
    }
    return plan;
  }
  CudnnLibrary library;
  std::map<std::vector<std::int64_t>, std::shared_ptr<AttentionPlan>> plans;
};

CudnnAttention::CudnnAttention(CUstream_st* stream) : state_(std::make_unique<State>(stream)) {}

std::string CudnnAttention::refusal(const AttentionArgs& args) {
  if (std::string shape = cudnn_shape_refusal(args); !shape.empty()) {
    return shape;
  }
  if (!state_->library.error.empty()) {
    return "cudnn: " + state_->library.error;
  }
  return state_->plan_of(args)->plan == nullptr ? state_->library.name() + " has no engine for this shape here" : "";
}

std::int64_t CudnnAttention::workspace_bytes(const AttentionArgs& args) {
  return refusal(args).empty() ? statistics_bytes(args) + state_->plan_of(args)->workspace_bytes : 0;
}

std::unique_ptr<Kernel> CudnnAttention::prepare(const AttentionArgs& args) {
  return std::make_unique<AttentionKernel>(state_->library, state_->plan_of(args), args);
}

int cudnn_engines(const AttentionArgs& args, const std::string& device_json) {
  const CudnnLibrary library(nullptr, false);
  if (!library.error.empty()) {
    return -1;
  }
  CudnnDescriptors all(library);
  const Descriptor device = all.make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  all.put(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, device_json.data(),
          static_cast<std::int64_t>(device_json.size()));
  all.finish(device);
  const Descriptor graph = AttentionGraph(all, args).finish(nullptr);
  return graph == nullptr ? 0 : static_cast<int>(engines_of(library, all, graph, device).size());
}
#else
struct CudnnAttention::State {};

CudnnAttention::CudnnAttention(CUstream_st* /*stream*/) {}

std::string CudnnAttention::refusal(const AttentionArgs& /*args*/) {
  return "cudnn: this plugin was built without its headers";
}

std::int64_t CudnnAttention::workspace_bytes(const AttentionArgs& /*args*/) {
  return 0;
}

std::unique_ptr<Kernel> CudnnAttention::prepare(const AttentionArgs& /*args*/) {
  return nullptr;
}

int cudnn_engines(const AttentionArgs& /*args*/, const std::string& /*device_json*/) {
  return -1;
}
#endif

CudnnAttention::~CudnnAttention() = default;

} // namespace attnprof::operators::gpu
