#pragma once
#include "operators/core/graph.hpp"

#include <functional>
#include <optional>

namespace attnprof::operators {

/// Passes over longer lists would take minutes; the deepest published networks stay below a tenth of this.
inline constexpr std::size_t kMaxOps = 50'000;

/// Values of a constant are kept in the graph; 2^26 of them take 256 MiB.
inline constexpr std::int64_t kMaxConstantElements = std::int64_t{1} << 26U;
/// A float holds whole numbers exactly up to 2^24, so that longer lists of rows would name wrong ones.
inline constexpr std::int64_t kMaxIndexedRows = std::int64_t{1} << 24U;
/// An empty vector with room for so many values of a constant; none where they are more than `most`, before any memory
/// is taken. A graph whose constants have no values can be counted, but not run.
std::optional<std::vector<float>> constant_values(Count elements, std::int64_t most = kMaxConstantElements);

/// A name in one piece or two, "q" and "_proj", joined only where it is kept. For arguments: it keeps no text itself.
class Label {
 public:
  // Implicit on purpose: most labels are literals.
  Label(const char* whole) : first_(whole) {}        // NOLINT(google-explicit-constructor)
  Label(const std::string& whole) : first_(whole) {} // NOLINT(google-explicit-constructor)
  Label(std::string_view whole) : first_(whole) {}   // NOLINT(google-explicit-constructor)
  Label(std::string_view first, std::string_view second) : first_(first), second_(second) {}
  void append_to(std::string& out) const { out.append(first_).append(second_); }

 private:
  std::string_view first_, second_;
};

/// What a graph has. Counting needs no scopes of ops, no names of temporaries and no values of constants.
enum class Detail { kWhole, kCounted };

/// Adds tensors and ops to a graph. Every op-adding function takes the leaf of its scope and returns the view of its
/// result. Shapes are checked here; a mismatch is Error(kInternal), a fault of the variant and not of the user.
class GraphBuilder {
 public:
  /// The lists of `recycled` are emptied and used again.
  explicit GraphBuilder(DType dtype, Graph recycled = {}, Detail detail = Detail::kWhole);

  /// Enters a scope ("block0", "mixer") for as long as it lives.
  class Scope {
   public:
    Scope(GraphBuilder& builder, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t length_;
  };
  [[nodiscard]] Scope scope(std::string_view name) { return {*this, name}; }

  View input(Label name, const Extents& dims) { return add_tensor({}, name, dims, TensorRole::kInput); }
  /// A parameter; its name is prefixed with the prefix in force ("block0.attn.").
  View weight(Label name, const Extents& dims);
  /// Elements of a table of experts that one token uses.
  void set_active_elements(const View& weight, std::int64_t elements);
  View cache(Label name, const Extents& dims, std::int64_t past_len);
  View rope_table(std::int64_t tokens, std::int64_t head_dim, std::int64_t first_position);
  /// A constant with given values, f32; `name` must be unique or name the same values. `make` is called for a new name
  /// alone; it gives none where they are too many to keep.
  using Values = std::optional<std::vector<float>>;
  View constant(const std::string& name, const Extents& dims, const std::function<Values()>& make);
  /// A constant of row numbers for gather() that name fewer rows than they are and than there are, as random ones do:
  /// how many distinct ones is counted, so that they are made whatever the detail.
  View row_numbers(const std::string& name, std::int64_t count, const std::function<Values()>& make);
  View constant(const std::string& name, const Extents& dims, std::vector<float> values);
  View temporary(const Extents& dims);
  void mark_output(const View& view, const std::string& name);
  /// Prefix of the names of weights and caches added from now on; returns the former one.
  std::string set_weight_prefix(std::string prefix);

  /// While it lives, a product over exactly `rows` rows has only `real` useful ones: the others are padding. A product
  /// that states its useful entries is not concerned.
  class RealRows {
   public:
    RealRows(GraphBuilder& builder, std::int64_t rows, std::int64_t real);
    ~RealRows();
    RealRows(const RealRows&) = delete;
    RealRows& operator=(const RealRows&) = delete;

   private:
    GraphBuilder& builder_;
    std::pair<std::int64_t, std::int64_t> former_;
  };

  struct MatMulOptions {
    Mask mask;
    MatMul::MaskAxes mask_axes = MatMul::MaskAxes::kNone;
    std::optional<std::int64_t> useful_entries = std::nullopt;
  };
  View matmul(Label leaf, const View& a, const View& b) { return matmul(leaf, a, b, {}); }
  View matmul(Label leaf, const View& a, const View& b, const MatMulOptions& options);
  View softmax(Label leaf, const View& x);
  View pointwise(Label leaf, const View& x, Step step);
  View add(Label leaf, const View& x, const View& operand); ///< operand broadcast to x by the caller
  View mul(Label leaf, const View& x, const View& operand);
  View scale(Label leaf, const View& x, double value);
  View activation(Label leaf, const View& x, StepFn fn);
  /// x w + bias in one launch, as frameworks' linear layers do.
  View linear(Label leaf, const View& x, const View& w, const View& bias);
  View layernorm(Label leaf, const View& x, const View& gamma, const View& beta, double eps);
  View rmsnorm(Label leaf, const View& x, const View& gamma, double eps);
  /// `bias` [channels], or a view of no tensor; so for conv2d.
  /// `useful_taps` where some pixels are padding: taps of real pixels on real pixels, for one channel of all images.
  View depthwise_conv2d(Label leaf, const View& x, const View& w, const View& bias, std::int64_t stride,
                        std::int64_t pad, std::optional<std::int64_t> useful_taps = std::nullopt);
  View conv2d(Label leaf, const View& x, const View& w, const View& bias, std::int64_t stride, std::int64_t pad,
              std::int64_t groups);
  View pool(Label leaf, const View& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  View reduce(Label leaf, const View& x, Reduce::Kind kind); ///< over the dimension before the last
  View channel_conv1d(Label leaf, const View& x, const View& w);
  View cumsum(Label leaf, const View& x);
  /// Rows of x [..., rows, c] in the order of `index`, which constant() made; -1 gives a row of zeros.
  View gather(Label leaf, const View& x, const View& index);
  /// x [..., rows, c] with zero rows at the end up to `rows`; x itself where nothing is missing.
  View pad_rows(Label leaf, const View& x, std::int64_t rows);
  /// Materialises a strided view: the copy that a framework's eager mode makes at a head split or merge.
  View layout_copy(Label leaf, const View& x);
  /// A layout copy into part of a larger tensor: the concatenation of heads.
  void layout_copy_into(Label leaf, const View& x, const View& y);
  /// A copy that every plan makes: appending to a cache.
  void copy_into(Label leaf, const View& x, const View& y);
  View rope(Label leaf, const View& x, const View& table);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  Graph take() { return std::move(graph_); }

 private:
  friend class Scope;
  View add_constant(const std::string& name, const Extents& dims, const std::function<Values()>& make);
  View add_tensor(std::string_view prefix, Label name, const Extents& dims, TensorRole role);
  /// Adds an op of these fields, made where it stays: some hold a kilobyte.
  template <class T, class... Fields>
  T& push(Label leaf, Fields&&... fields);
  DType dtype_;
  Detail detail_;
  Graph graph_;
  std::string scope_;
  std::string weight_prefix_;
  std::pair<std::int64_t, std::int64_t> real_rows_{0, 0}; ///< of so many rows, so many are tokens; see RealRows
};

} // namespace attnprof::operators
