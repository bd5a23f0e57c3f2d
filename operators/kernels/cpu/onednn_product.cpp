#include "operators/kernels/cpu/onednn_product.hpp"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <omp.h>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::operators::cpu {
namespace {

using dnnl::memory;

/// A block of c that the epilogue then finds in the second-level cache.
constexpr std::int64_t kBlockBytes = 192 * 1024;
/// Least rows of a block, even where it then leaves the cache: a matmul call packs the right factor again, which takes
/// as long as multiplying it by a few tens of rows, and a convolution reads it again (197x3072x768 with GELU in blocks
/// of 32, 64, 128 rows: 1.07, 0.93, 0.85 of the own kernels' time).
constexpr std::int64_t kLeastRows = 128;
/// The convolution's register tile has four rows.
constexpr std::int64_t kConvolutionTile = 4;

memory::desc describe(const Operand& operand, std::int64_t rows, std::int64_t columns) {
  return {{rows, columns},
          operand.bf16 ? memory::data_type::bf16 : memory::data_type::f32,
          memory::dims{operand.row, operand.column}};
}

/// The 1x1 convolution of `rows` pixels of k channels to n channels.
dnnl::convolution_forward::primitive_desc describe_convolution(std::int64_t rows, std::int64_t n, std::int64_t k,
                                                               const dnnl::engine& engine) {
  using Tag = memory::format_tag;
  constexpr auto kF32 = memory::data_type::f32;
  const memory::dims ones{1, 1};
  const memory::dims zeros{0, 0};
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                             {{1, k, 1, rows}, kF32, Tag::nhwc}, {{n, k, 1, 1}, kF32, Tag::OIhw8i8o},
                                             {{1, n, 1, rows}, kF32, Tag::nhwc}, ones, zeros, zeros);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {desc, attributes, engine};
}

dnnl::matmul::primitive_desc describe_matmul(const MatMulArgs& args, std::int64_t rows, const dnnl::engine& engine) {
  const dnnl::matmul::desc desc(describe(args.a, rows, args.k), describe(args.b, args.k, args.n),
                                describe(args.c, rows, args.n));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {desc, attributes, engine};
}

bool is_dense_matrix(const Operand& operand, std::int64_t rows, std::int64_t columns) {
  return (operand.column == 1 && operand.row >= columns) || (operand.row == 1 && operand.column >= rows);
}

/// oneDNN sizes its work by the threads of the caller; each share runs alone.
class SingleThread {
 public:
  SingleThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThread() { omp_set_num_threads(before_); }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int before_;
};

/// Arguments of one share: the same memory objects again and again, with other addresses. The scratchpad is the share's
/// own: one that the library keeps would be shared by all that run the primitive at once.
class Arguments {
 public:
  template <class Description>
  Arguments(const Description& product, const dnnl::engine& engine)
      : source_(product.src_desc(), engine, DNNL_MEMORY_NONE),
        weights_(product.weights_desc(), engine, DNNL_MEMORY_NONE),
        result_(product.dst_desc(), engine, DNNL_MEMORY_NONE),
        scratchpad_(product.scratchpad_desc(), engine, DNNL_MEMORY_NONE), list_{{{DNNL_ARG_SRC, source_.get()},
                                                                                 {DNNL_ARG_WEIGHTS, weights_.get()},
                                                                                 {DNNL_ARG_DST, result_.get()},
                                                                                 {DNNL_ARG_SCRATCHPAD,
                                                                                  scratchpad_.get()}}} {}

  // Through the C interface, because the C++ one builds its arguments anew in every call.
  void run(const dnnl::primitive& primitive, const dnnl::stream& stream, std::byte* source, std::byte* weights,
           std::byte* result, std::byte* scratch) {
    source_.set_data_handle(source);
    weights_.set_data_handle(weights);
    result_.set_data_handle(result);
    scratchpad_.set_data_handle(scratch);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(list_.size()), list_.data()),
        "oneDNN could not run a matrix product");
  }

 private:
  memory source_, weights_, result_, scratchpad_;
  std::array<dnnl_exec_arg_t, 4> list_;
};

/// The product of one block height.
struct Block {
  dnnl::primitive primitive;
  std::string implementation;
  std::int64_t scratch_bytes = 0;
  std::vector<Arguments> arguments; ///< one per share
};

std::int64_t offset_in(const Operand& operand, const Nest& nest, std::int64_t flat) {
  std::int64_t out = 0;
  for (int d = nest.rank; d-- > 0;) {
    out += flat % nest.dims[d] * operand.outer[d];
    flat /= nest.dims[d];
  }
  return out;
}

std::byte* at(const Operand& operand, std::int64_t offset) {
  return operand.address + offset * (operand.bf16 ? 2 : 4);
}

} // namespace

struct OneDnnProduct::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::vector<dnnl::stream> streams; ///< one per share
  std::int64_t block_rows = 0;
  Block whole;
  std::optional<Block> rest; ///< the rows that do not fill a block

  Block make_block(const MatMulArgs& args, std::int64_t rows, int shares) {
    if (args.b_blocks) {
      const auto product = describe_convolution(rows, args.n, args.k, engine);
      return make_block(product, dnnl::convolution_forward(product), shares);
    }
    const auto product = describe_matmul(args, rows, engine);
    return make_block(product, dnnl::matmul(product), shares);
  }

 private:
  template <class Description>
  Block make_block(const Description& product, const dnnl::primitive& primitive, int shares) {
    Block block{
        primitive, product.impl_info_str(), static_cast<std::int64_t>(product.scratchpad_desc().get_size()), {}};
    block.arguments.reserve(static_cast<std::size_t>(shares));
    for (int share = 0; share < shares; ++share) {
      block.arguments.emplace_back(product, engine);
    }
    return block;
  }
};

bool has_onednn_convolution(std::int64_t n, std::int64_t k) {
  const SingleThread guard;
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return describe_convolution(kLeastRows, n, k, engine).impl_info_str() == std::string("jit_1x1:avx2");
  } catch (const dnnl::error&) {
    return false; // no kernel reads weights in these blocks
  }
}

std::unique_ptr<OneDnnProduct> OneDnnProduct::make(const MatMulArgs& args, int shares, Accept accept) {
  const bool same_types = args.a.bf16 == args.b.bf16 && args.a.bf16 == args.c.bf16;
  bool masked = false; // a mask counts rows from the first of the whole product
  for (int s = 0; s < args.steps.count; ++s) {
    masked = masked || args.steps.steps[s].ranges != nullptr;
  }
  // A convolution takes pixels that lie side by side; a single one lies anywhere.
  const bool side_by_side = args.m == 1 || (args.a.row == args.k && args.c.row == args.n);
  const bool placed = args.b_blocks
                          ? !args.a.bf16 && side_by_side
                          : is_dense_matrix(args.b, args.k, args.n) && args.a.row >= args.k && args.c.row >= args.n;
  if (masked || args.b_panels || !same_types || !placed || args.a.column != 1 || args.c.column != 1) {
    return nullptr;
  }
  const SingleThread guard;
  auto state = std::make_unique<State>();
  const std::int64_t in_cache = std::max(kBlockBytes / (4 * args.n), kLeastRows);
  const std::int64_t per_share = args.nest.count >= shares ? args.m : ceil_div(args.m, shares);
  // Blocks of equal height: a short last one would waste the call.
  const std::int64_t blocks = args.steps.count == 0 ? 1 : ceil_div(per_share, std::min(in_cache, per_share));
  state->block_rows = ceil_div(per_share, blocks);
  if (args.b_blocks) {
    state->block_rows = std::min(round_up(state->block_rows, kConvolutionTile), args.m);
  }
  for (int share = 0; share < shares; ++share) {
    state->streams.emplace_back(state->engine);
  }
  try {
    state->whole = state->make_block(args, state->block_rows, shares);
    if (const std::int64_t rest = args.m % state->block_rows; rest != 0) {
      state->rest = state->make_block(args, rest, shares);
    }
  } catch (const dnnl::error&) {
    return nullptr; // a combination that this version of oneDNN does not implement
  }
  const std::string& name = state->whole.implementation;
  if (name.find("ref") != std::string::npos || (accept == Accept::kBlocked && name.find("gemm:") == 0)) {
    return nullptr;
  }
  return std::unique_ptr<OneDnnProduct>(new OneDnnProduct(std::move(state)));
}

OneDnnProduct::OneDnnProduct(std::unique_ptr<State> state) : state_(std::move(state)) {}
OneDnnProduct::~OneDnnProduct() = default;

const std::string& OneDnnProduct::implementation() const {
  return state_->whole.implementation;
}

std::int64_t OneDnnProduct::scratch_bytes() const {
  return std::max(state_->whole.scratch_bytes, state_->rest ? state_->rest->scratch_bytes : 0);
}

namespace {

/// The epilogue on rows [row, row + rows) of one batch entry, in place.
void run_epilogue(const MatMulArgs& args, const KernelTable& table, std::int64_t flat, std::int64_t row,
                  std::int64_t rows) {
  if (args.steps.count == 0) {
    return;
  }
  constexpr int kMaxSteps = 16; // a launch has a handful
  StepArgs steps[kMaxSteps];
  RowsArgs block;
  block.rows = rows;
  block.columns = args.n;
  block.y = args.c;
  block.y.address = at(args.c, offset_in(args.c, args.nest, flat) + row * args.c.row);
  block.x = block.y;
  for (int s = 0; s < args.steps.count; ++s) {
    steps[s] = args.steps.steps[s];
    Operand& operand = steps[s].operand;
    if (operand.address != nullptr) {
      operand.address = at(operand, offset_in(operand, args.nest, flat) + row * operand.row);
    }
  }
  block.steps = {steps, args.steps.count};
  table.pointwise(block, 0, 1);
}

} // namespace

void OneDnnProduct::run(const MatMulArgs& args, const KernelTable& table, int share, int shares) const {
  const std::int64_t blocks = ceil_div(args.m, state_->block_rows);
  const std::int64_t units = args.nest.count * blocks;
  for (std::int64_t unit = units * share / shares; unit < units * (share + 1) / shares; ++unit) {
    const std::int64_t flat = unit / blocks;
    const std::int64_t row = unit % blocks * state_->block_rows;
    const std::int64_t rows = std::min(state_->block_rows, args.m - row);
    Block& block = rows == state_->block_rows ? state_->whole : *state_->rest;
    Arguments& arguments = block.arguments[static_cast<std::size_t>(share)];
    arguments.run(block.primitive, state_->streams[static_cast<std::size_t>(share)],
                  at(args.a, offset_in(args.a, args.nest, flat) + row * args.a.row),
                  at(args.b, offset_in(args.b, args.nest, flat)),
                  at(args.c, offset_in(args.c, args.nest, flat) + row * args.c.row),
                  args.scratch + share * args.scratch_stride);
    run_epilogue(args, table, flat, row, rows);
  }
}

} // namespace attnprof::operators::cpu
