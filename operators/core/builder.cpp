#include "operators/core/builder.hpp"

#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace attnprof::operators {
namespace {

void require(bool condition, std::string_view op, const View& a, const View& b) {
  if (!condition) {
    throw Error(ErrorKind::kInternal, fmt::format("{}: shapes {} and {} do not fit", op, a.shape(), b.shape()));
  }
}

/// The addition of a bias to every row of y; none for a view of no tensor.
Steps bias_step(const View& bias, const View& y) {
  return bias.tensor < 0 ? Steps{} : Steps{{StepFn::kAdd, 0.0, each_row(bias, y), {}}};
}

} // namespace

std::optional<std::vector<float>> constant_values(Count elements, std::int64_t most) {
  if (elements.value() > most) {
    return std::nullopt;
  }
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(elements.value()));
  return out;
}

GraphBuilder::GraphBuilder(DType dtype, Graph recycled, Detail detail)
    : dtype_(dtype), detail_(detail), graph_(std::move(recycled)) {
  graph_.ops.clear();
  graph_.tensors.clear();
  // A block of most layouts fits; an op is a kilobyte, so that growing costs more than what is left unused.
  constexpr std::size_t kUsualOps = 24;
  graph_.ops.reserve(kUsualOps);
  graph_.tensors.reserve(2 * kUsualOps);
}

GraphBuilder::Scope::Scope(GraphBuilder& builder, std::string_view name)
    : builder_(builder), length_(builder.scope_.size()) {
  builder.scope_.append(name).push_back('/');
}
GraphBuilder::Scope::~Scope() {
  builder_.scope_.resize(length_);
}

GraphBuilder::RealRows::RealRows(GraphBuilder& builder, std::int64_t rows, std::int64_t real)
    : builder_(builder), former_(std::exchange(builder.real_rows_, {rows, real})) {}
GraphBuilder::RealRows::~RealRows() {
  builder_.real_rows_ = former_;
}

View GraphBuilder::add_tensor(std::string_view prefix, Label name, const Extents& dims, TensorRole role) {
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  Tensor& tensor = graph_.tensors.emplace_back();
  if (role != TensorRole::kIntermediate || detail_ == Detail::kWhole) {
    tensor.name.append(prefix);
    name.append_to(tensor.name);
  }
  tensor.dims = dims;
  tensor.dtype = dtype_;
  tensor.role = role;
  const View view = dense_view(id, dims);
  if (!dims.empty()) { // refuses sizes whose bytes do not fit 64 bits here, where the tensor is made
    (void)(Count(view.strides[0]) * dims[0] * size_bytes(dtype_));
  }
  return view;
}

View GraphBuilder::temporary(const Extents& dims) {
  const std::string number = detail_ == Detail::kWhole ? std::to_string(graph_.tensors.size()) : std::string();
  return add_tensor("t", number, dims, TensorRole::kIntermediate);
}

View GraphBuilder::weight(Label name, const Extents& dims) {
  return add_tensor(weight_prefix_, name, dims, TensorRole::kWeight);
}

void GraphBuilder::set_active_elements(const View& weight, std::int64_t elements) {
  graph_.tensors[static_cast<std::size_t>(weight.tensor)].active_elements = elements;
}

View GraphBuilder::cache(Label name, const Extents& dims, std::int64_t past_len) {
  const View view = add_tensor(weight_prefix_, name, dims, TensorRole::kCache);
  graph_.tensors.back().position = past_len;
  return view;
}

View GraphBuilder::rope_table(std::int64_t tokens, std::int64_t head_dim, std::int64_t first_position) {
  // One table serves all blocks: frameworks keep it as a buffer.
  const std::string name = fmt::format("rope_{}_{}_{}", tokens, head_dim, first_position);
  if (const TensorId found = graph_.find(name); found >= 0) {
    return dense_view(found, graph_.tensor(found).dims);
  }
  const View view = add_tensor({}, name, {tokens, head_dim}, TensorRole::kConstant);
  Tensor& tensor = graph_.tensors.back();
  tensor.dtype = DType::kF32;
  tensor.fill = Fill::kRopeTable;
  tensor.position = first_position;
  return view;
}

void GraphBuilder::mark_output(const View& view, const std::string& name) {
  Tensor& tensor = graph_.tensors[static_cast<std::size_t>(view.tensor)];
  tensor.role = TensorRole::kOutput;
  tensor.name = name;
}

std::string GraphBuilder::set_weight_prefix(std::string prefix) {
  return std::exchange(weight_prefix_, std::move(prefix));
}

namespace {

/// Converts to what a function returns, which is thus made where it is wanted, without a move.
template <class Make>
struct Made {
  explicit Made(const Make& function) : make(function) {}
  operator Primitive() const { return make(); } // NOLINT(google-explicit-constructor)
  const Make& make;
};

} // namespace

template <class T, class... Fields>
T& GraphBuilder::push(Label leaf, Fields&&... fields) {
  if (graph_.ops.size() == kMaxOps) {
    throw Error(ErrorKind::kOverflow,
                fmt::format("the workload has more than the {} launches that can be listed: use a smaller --depth, "
                            "--heads or --n-ffn",
                            kMaxOps));
  }
  std::string scope;
  if (detail_ == Detail::kWhole) {
    scope = scope_;
    leaf.append_to(scope);
  }
  const auto make = [&] { return Primitive(std::in_place_type<T>, std::forward<Fields>(fields)...); };
  return std::get<T>(graph_.ops.emplace_back(std::move(scope), Made(make)).primitive);
}

View GraphBuilder::matmul(Label leaf, const View& a, const View& b, const MatMulOptions& options) {
  require(a.rank() == b.rank() && a.dims.back() == b.dims.back(1), "matmul", a, b);
  Extents dims = a.dims;
  dims[dims.size() - 1] = b.dims.back();
  for (std::size_t i = 0; i + 2 < a.rank(); ++i) {
    require(a.dims[i] == b.dims[i], "matmul", a, b);
  }
  const View c = temporary(dims);
  MatMul& product = push<MatMul>(leaf, a, b, c, options.mask, options.mask_axes, options.useful_entries, Steps{});
  const auto [rows, real] = real_rows_;
  if (real < rows && product.mask_axes == MatMul::MaskAxes::kNone && c.elements() == Count(rows) * c.dims.back()) {
    product.mask_axes = MatMul::MaskAxes::kRows;
    product.useful_entries = real;
  }
  return c;
}

View GraphBuilder::softmax(Label leaf, const View& x) {
  const View y = temporary(x.dims);
  push<Softmax>(leaf, x, y);
  return y;
}

View GraphBuilder::pointwise(Label leaf, const View& x, Step step) {
  if (step.operand) {
    require(step.operand->dims == x.dims, step_traits(step.fn).name, x, *step.operand);
  }
  const View y = temporary(x.dims);
  push<Pointwise>(leaf, x, y).steps.push_back(std::move(step));
  return y;
}

View GraphBuilder::add(Label leaf, const View& x, const View& operand) {
  return pointwise(leaf, x, {StepFn::kAdd, 0.0, operand, {}});
}
View GraphBuilder::mul(Label leaf, const View& x, const View& operand) {
  return pointwise(leaf, x, {StepFn::kMul, 0.0, operand, {}});
}
View GraphBuilder::scale(Label leaf, const View& x, double value) {
  return pointwise(leaf, x, {StepFn::kScale, value, {}, {}});
}
View GraphBuilder::activation(Label leaf, const View& x, StepFn fn) {
  return pointwise(leaf, x, {fn, 0.0, {}, {}});
}
View GraphBuilder::linear(Label leaf, const View& x, const View& w, const View& bias) {
  const View y = matmul(leaf, x, w);
  std::get<MatMul>(graph_.ops.back().primitive).epilogue.push_back({StepFn::kAdd, 0.0, each_row(bias, y), {}});
  return y;
}

View GraphBuilder::layernorm(Label leaf, const View& x, const View& gamma, const View& beta, double eps) {
  require(gamma.dims.back() == x.dims.back() && beta.dims == gamma.dims, "layernorm", x, gamma);
  const View y = temporary(x.dims);
  push<LayerNorm>(leaf, x, y, gamma, beta, eps);
  return y;
}

View GraphBuilder::rmsnorm(Label leaf, const View& x, const View& gamma, double eps) {
  require(gamma.dims.back() == x.dims.back(), "rmsnorm", x, gamma);
  const View y = temporary(x.dims);
  push<LayerNorm>(leaf, x, y, gamma, std::nullopt, eps);
  return y;
}

View GraphBuilder::depthwise_conv2d(Label leaf, const View& x, const View& w, const View& bias, std::int64_t stride,
                                    std::int64_t pad, std::optional<std::int64_t> useful_taps) {
  require(x.rank() == 4 && w.rank() == 3 && w.dims[0] == x.dims[3], "depthwise_conv2d", x, w);
  const std::int64_t kernel = w.dims[1];
  const View y = temporary({x.dims[0], (x.dims[1] + 2 * pad - kernel) / stride + 1,
                            (x.dims[2] + 2 * pad - w.dims[2]) / stride + 1, x.dims[3]});
  push<DepthwiseConv2d>(leaf, x, w, y, stride, pad, bias_step(bias, y), useful_taps);
  return y;
}

View GraphBuilder::constant(const std::string& name, const Extents& dims, std::vector<float> values) {
  return constant(name, dims, [&] { return Values(std::move(values)); });
}

View GraphBuilder::constant(const std::string& name, const Extents& dims, const std::function<Values()>& make) {
  const bool is_made = detail_ == Detail::kWhole;
  return add_constant(name, dims, [&] { return is_made ? make() : std::nullopt; });
}

View GraphBuilder::row_numbers(const std::string& name, std::int64_t count, const std::function<Values()>& make) {
  return add_constant(name, {count}, make);
}

View GraphBuilder::add_constant(const std::string& name, const Extents& dims, const std::function<Values()>& make) {
  if (const TensorId found = graph_.find(name); found >= 0) {
    return dense_view(found, graph_.tensor(found).dims);
  }
  const View view = add_tensor({}, name, dims, TensorRole::kConstant);
  Tensor& tensor = graph_.tensors.back();
  tensor.dtype = DType::kF32;
  tensor.fill = Fill::kValues;
  if (Values values = make()) {
    tensor.values = std::make_shared<const std::vector<float>>(std::move(*values));
  }
  return view;
}

View GraphBuilder::conv2d(Label leaf, const View& x, const View& w, const View& bias, std::int64_t stride,
                          std::int64_t pad, std::int64_t groups) {
  require(x.rank() == 4 && w.rank() == 4 && w.dims[3] * groups == x.dims[3] && w.dims[0] % groups == 0, "conv2d", x, w);
  const View y = temporary({x.dims[0], (x.dims[1] + 2 * pad - w.dims[1]) / stride + 1,
                            (x.dims[2] + 2 * pad - w.dims[2]) / stride + 1, w.dims[0]});
  push<Conv2d>(leaf, x, w, y, stride, pad, groups, bias_step(bias, y));
  return y;
}

View GraphBuilder::pool(Label leaf, const View& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  const View y = temporary(
      {x.dims[0], (x.dims[1] + 2 * pad - kernel) / stride + 1, (x.dims[2] + 2 * pad - kernel) / stride + 1, x.dims[3]});
  push<Pool>(leaf, x, y, kernel, stride, pad);
  return y;
}

View GraphBuilder::reduce(Label leaf, const View& x, Reduce::Kind kind) {
  Extents dims = x.dims;
  dims.erase(dims.size() - 2);
  const View y = temporary(dims);
  push<Reduce>(leaf, x, y, kind);
  return y;
}

View GraphBuilder::channel_conv1d(Label leaf, const View& x, const View& w) {
  require(x.rank() == 2 && w.rank() == 1, "channel_conv1d", x, w);
  const View y = temporary(x.dims);
  push<ChannelConv1d>(leaf, x, w, y);
  return y;
}

View GraphBuilder::cumsum(Label leaf, const View& x) {
  const View y = temporary(x.dims);
  push<CumSum>(leaf, x, y);
  return y;
}

View GraphBuilder::gather(Label leaf, const View& x, const View& index) {
  require(index.rank() == 1 && x.rank() >= 2, "gather", x, index);
  Extents dims = x.dims;
  dims[dims.size() - 2] = index.dims[0];
  const View y = temporary(dims);
  push<Gather>(leaf, x, index, y, graph_.tensor(index.tensor).values);
  return y;
}

View GraphBuilder::pad_rows(Label leaf, const View& x, std::int64_t rows) {
  const std::int64_t real = x.dims.back(1);
  if (real == rows) {
    return x;
  }
  const auto index = [&] {
    Values out = constant_values(rows, kMaxIndexedRows);
    if (out) {
      out->resize(static_cast<std::size_t>(rows), -1.0F);
      std::iota(out->begin(), out->begin() + static_cast<std::ptrdiff_t>(real), 0.0F);
    }
    return out;
  };
  return gather(leaf, x, constant(fmt::format("pad_{}_to_{}", real, rows), {rows}, index));
}

View GraphBuilder::layout_copy(Label leaf, const View& x) {
  const View y = temporary(x.dims);
  push<Copy>(leaf, x, y, true);
  return y;
}

void GraphBuilder::layout_copy_into(Label leaf, const View& x, const View& y) {
  require(x.dims == y.dims, "copy", x, y);
  push<Copy>(leaf, x, y, true);
}

void GraphBuilder::copy_into(Label leaf, const View& x, const View& y) {
  require(x.dims == y.dims, "copy", x, y);
  push<Copy>(leaf, x, y, false);
}

View GraphBuilder::rope(Label leaf, const View& x, const View& table) {
  require(table.rank() == 2 && table.dims[0] == x.dims.back(1) && table.dims[1] == x.dims.back(), "rope", x, table);
  const View y = temporary(x.dims);
  push<Rope>(leaf, x, y, table);
  return y;
}

} // namespace attnprof::operators
