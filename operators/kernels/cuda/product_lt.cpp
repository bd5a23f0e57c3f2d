#include "operators/kernels/cuda/product_lt.hpp"

#include "operators/kernels/cuda/cuda_error.hpp"
#include "operators/kernels/cuda/own_kernels.hpp"

#include <algorithm>

namespace attnprof::operators::gpu {
namespace {

void require_lt(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorKind::kInternal, fmt::format("{} failed with cuBLAS status {}", what, static_cast<int>(status)));
  }
}

cudaDataType_t lt_type(DType dtype) {
  return dtype == DType::kF32 ? CUDA_R_32F : dtype == DType::kBf16 ? CUDA_R_16BF : CUDA_R_16F;
}

/// Owns one descriptor of the library.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) {
      destroy(handle_);
    }
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* put() { return &handle_; }
  [[nodiscard]] Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class Value>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  require_lt(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)),
             "describing a product");
}

/// The largest power of two, up to 256, that divides an address.
std::uint32_t alignment_of(const std::byte* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  std::uint32_t out = 256;
  while (out > 1 && bits % out != 0) {
    out /= 2;
  }
  return out;
}

class LtProduct final : public Kernel {
 public:
  LtProduct(cublasLtHandle_t library, const ProductArgs& args, CUstream_st* stream)
      : library_(library), args_(args), stream_(stream) {}

  /// False where the library has no algorithm for it.
  bool plan(bool with_epilogue) {
    epilogue_ = with_epilogue ? split_steps(args_) : ProductEpilogue{};
    const auto left = factor_layout(args_.k, args_.n, args_.b_row, args_.b_column);
    const auto right = factor_layout(args_.m, args_.k, args_.a_row, args_.a_column);
    const bool fits = left && right && (args_.c_column == 1 || args_.n == 1) && args_.a.dtype == args_.b.dtype &&
                      (args_.c.dtype == args_.a.dtype || args_.c.dtype == DType::kF32);
    if (!fits) {
      return false;
    }
    describe(*left, *right);
    return choose();
  }

  void start() override {
    const float beta = epilogue_.residual >= 0 ? 1.0F : 0.0F;
    for (std::int64_t outer = 0; outer < outer_count_; ++outer) {
      std::byte* c = at(args_.c, outer);
      std::byte* residual = epilogue_.residual >= 0 ? at(args_.steps.steps[epilogue_.residual].operand, outer) : c;
      require_lt(cublasLtMatmul(library_, description_->get(), &epilogue_.alpha, at(args_.b, outer), left_->get(),
                                at(args_.a, outer), right_->get(), &beta, residual, residual_->get(), c, result_->get(),
                                &algorithm_, args_.workspace, static_cast<std::size_t>(args_.workspace_bytes), stream_),
                 "a product of cuBLASLt");
    }
    if (epilogue_.taken < args_.steps.count) {
      start_own_kernel(remaining_pass(args_, epilogue_.taken), stream_);
      require(cudaGetLastError(), "the pass behind a product");
    }
  }

  [[nodiscard]] std::string impl() const override {
    std::string out =
        fmt::format("cublaslt{} algo {} tile {} stages {}", args_.tf32 ? " tf32" : "", config(CUBLASLT_ALGO_CONFIG_ID),
                    config(CUBLASLT_ALGO_CONFIG_TILE_ID), config(CUBLASLT_ALGO_CONFIG_STAGES_ID));
    if (const int splits = config(CUBLASLT_ALGO_CONFIG_SPLITK_NUM); splits > 1) {
      out += fmt::format(" split-k {}", splits);
    }
    if (outer_count_ > 1) {
      out += fmt::format(", {} calls", outer_count_);
    }
    return epilogue_.taken < args_.steps.count ? out + " + own pass" : out;
  }

 private:
  /// cuBLASLt thinks column by column: row-major c = a b is c^T = b^T a^T to it.
  void describe(const FactorLayout& left, const FactorLayout& right) {
    description_ = std::make_unique<Description>();
    require_lt(cublasLtMatmulDescCreate(description_->put(),
                                        args_.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "describing a product");
    set(*description_, CUBLASLT_MATMUL_DESC_TRANSA, left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(*description_, CUBLASLT_MATMUL_DESC_TRANSB, right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    const bool biased = epilogue_.bias >= 0;
    const std::array<cublasLtEpilogue_t, 3> plain = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU,
                                                     CUBLASLT_EPILOGUE_GELU};
    const std::array<cublasLtEpilogue_t, 3> with_bias = {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                                                         CUBLASLT_EPILOGUE_GELU_BIAS};
    const auto activation = static_cast<std::size_t>(epilogue_.activation);
    set(*description_, CUBLASLT_MATMUL_DESC_EPILOGUE, biased ? with_bias[activation] : plain[activation]);
    if (biased) {
      const Operand& bias = args_.steps.steps[epilogue_.bias].operand;
      const void* address = bias.address;
      set(*description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, address);
      set(*description_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, lt_type(bias.dtype));
    }
    left_ = layout(args_.b, left.transposed ? args_.k : args_.n, left.transposed ? args_.n : args_.k, left.leading);
    right_ = layout(args_.a, right.transposed ? args_.m : args_.k, right.transposed ? args_.k : args_.m, right.leading);
    const std::int64_t c_leading = std::max(args_.c_row, args_.n);
    result_ = layout(args_.c, args_.n, args_.m, c_leading);
    const int rank = args_.batch.rank;
    residual_ = epilogue_.residual < 0
                    ? layout(args_.c, args_.n, args_.m, c_leading)
                    : layout(args_.steps.steps[epilogue_.residual].operand, args_.n, args_.m,
                             std::max(args_.steps.steps[epilogue_.residual].operand.strides[rank], args_.n));
    outer_count_ = rank > 0 ? args_.batch.count / args_.batch.dims[rank - 1] : 1;
  }

  /// The last batch dimension is the library's own; the others are calls.
  std::unique_ptr<Layout> layout(const Operand& operand, std::int64_t rows, std::int64_t columns,
                                 std::int64_t leading) const {
    auto out = std::make_unique<Layout>();
    require_lt(cublasLtMatrixLayoutCreate(out->put(), lt_type(operand.dtype), static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), leading),
               "describing a matrix");
    const int rank = args_.batch.rank;
    if (rank > 0) {
      const auto count = static_cast<std::int32_t>(args_.batch.dims[rank - 1]);
      const std::int64_t stride = operand.strides[rank - 1];
      require_lt(
          cublasLtMatrixLayoutSetAttribute(out->get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
          "describing a batch");
      require_lt(cublasLtMatrixLayoutSetAttribute(out->get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                  sizeof(stride)),
                 "describing a batch");
    }
    return out;
  }

  bool choose() {
    Preference preference;
    require_lt(cublasLtMatmulPreferenceCreate(preference.put()), "asking for an algorithm");
    const auto set_preference = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      require_lt(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
                 "asking for an algorithm");
    };
    set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(args_.workspace_bytes));
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, least_alignment(args_.b));
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, least_alignment(args_.a));
    const std::uint32_t c_alignment = least_alignment(args_.c);
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                   epilogue_.residual < 0 ? c_alignment
                                          : least_alignment(args_.steps.steps[epilogue_.residual].operand));
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c_alignment);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(library_, description_->get(), left_->get(), right_->get(), residual_->get(),
                                       result_->get(), preference.get(), 1, &best, &found);
    algorithm_ = best.algo;
    return status == CUBLAS_STATUS_SUCCESS && found > 0;
  }

  /// Of all calls: the outer batch strides move the address.
  [[nodiscard]] std::uint32_t least_alignment(const Operand& operand) const {
    std::uint32_t out = alignment_of(operand.address);
    for (std::int64_t outer = 1; outer < outer_count_; ++outer) {
      out = std::min(out, alignment_of(at(operand, outer)));
    }
    return out;
  }

  [[nodiscard]] std::byte* at(const Operand& operand, std::int64_t outer) const {
    std::int64_t place = 0;
    for (int d = args_.batch.rank - 2; d >= 0; --d) {
      place += outer % args_.batch.dims[d] * operand.strides[d];
      outer /= args_.batch.dims[d];
    }
    return operand.address + place * size_bytes(operand.dtype);
  }

  [[nodiscard]] int config(cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    int value = 0;
    std::size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(&algorithm_, attribute, &value, sizeof(value), &written);
    return value;
  }

  cublasLtHandle_t library_;
  ProductArgs args_;
  CUstream_st* stream_;
  ProductEpilogue epilogue_;
  std::unique_ptr<Description> description_;
  std::unique_ptr<Layout> left_, right_, residual_, result_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::int64_t outer_count_ = 1;
};

} // namespace

std::optional<FactorLayout> factor_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                          std::int64_t column_stride) {
  // Row-major [rows, columns] is column-major [columns, rows]: not transposed, as seen from the transposed product.
  if (column_stride == 1 && (row_stride >= columns || rows == 1)) {
    return FactorLayout{false, std::max(row_stride, columns)};
  }
  if (row_stride == 1 && (column_stride >= rows || columns == 1)) {
    return FactorLayout{true, std::max(column_stride, rows)};
  }
  if (columns == 1 && row_stride >= 1) {
    return FactorLayout{false, row_stride};
  }
  if (rows == 1 && column_stride >= 1) {
    return FactorLayout{true, column_stride};
  }
  return std::nullopt;
}

ProductEpilogue split_steps(const ProductArgs& args) {
  ProductEpilogue out;
  const int rank = args.batch.rank;
  for (; out.taken < args.steps.count && out.activation == 0; ++out.taken) {
    const StepArgs& step = args.steps.steps[out.taken];
    const Operand& operand = step.operand;
    bool spreads = true; // the same row for the whole batch
    for (int d = 0; d < rank; ++d) {
      spreads = spreads && (operand.strides[d] == 0 || args.batch.dims[d] == 1);
    }
    const bool is_row = spreads && (operand.strides[rank] == 0 || args.m == 1) && operand.strides[rank + 1] == 1;
    const bool is_matrix = operand.strides[rank + 1] == 1 && operand.strides[rank] >= args.n;
    if (step.fn == StepFn::kScale && out.taken == 0) {
      out.alpha = step.value;
    } else if (step.fn == StepFn::kAdd && operand.dtype == args.c.dtype && is_row && out.bias < 0) {
      out.bias = out.taken;
    } else if (step.fn == StepFn::kAdd && operand.dtype == args.c.dtype && is_matrix && out.residual < 0) {
      out.residual = out.taken;
    } else if (step.fn == StepFn::kRelu) {
      out.activation = 1;
    } else if (step.fn == StepFn::kGeluTanh) {
      out.activation = 2;
    } else {
      break;
    }
  }
  return out;
}

ElementwiseArgs remaining_pass(const ProductArgs& args, int taken) {
  ElementwiseArgs out;
  out.space = args.batch;
  const int rank = args.batch.rank;
  out.space.dims[rank] = args.m;
  out.space.dims[rank + 1] = args.n;
  out.space.rank = rank + 2;
  out.space.count = args.batch.count * args.m * args.n;
  out.y = args.c;
  out.y.strides[rank] = args.c_row;
  out.y.strides[rank + 1] = args.c_column;
  out.x = out.y;
  out.steps.queries = args.steps.queries;
  out.steps.keys = args.steps.keys;
  for (int s = taken; s < args.steps.count; ++s) {
    out.steps.steps[out.steps.count++] = args.steps.steps[s];
  }
  const auto is_wide = [&](const Operand& operand) {
    const std::int64_t inner = operand.strides[rank + 1];
    if (operand.address == nullptr || inner == 0) {
      return true;
    }
    bool wide = inner == 1 && reinterpret_cast<std::uintptr_t>(operand.address) % 16 == 0;
    for (int d = 0; d <= rank; ++d) {
      wide = wide && operand.strides[d] % kWide == 0;
    }
    return wide;
  };
  out.wide = args.n % kWide == 0 && out.y.strides[rank + 1] == 1 && is_wide(out.y);
  for (int s = 0; s < out.steps.count; ++s) {
    out.wide = out.wide && is_wide(out.steps.steps[s].operand);
  }
  return out;
}

std::unique_ptr<Kernel> make_lt_product(cublasLtHandle_t library, const ProductArgs& args, CUstream_st* stream) {
  for (const bool with_epilogue : {true, false}) {
    auto product = std::make_unique<LtProduct>(library, args, stream);
    if (product->plan(with_epilogue)) {
      return product;
    }
  }
  return nullptr;
}

} // namespace attnprof::operators::gpu
