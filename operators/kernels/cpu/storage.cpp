#include "operators/kernels/cpu/storage.hpp"

#include "operators/core/io.hpp"
#include "operators/exec/fill.hpp"
#include "operators/kernels/cpu/product_rule.hpp"

#include <bit>
#include <cstring>

namespace attnprof::operators::cpu {
namespace {

enum class Use { kNone, kFactor, kBlocks, kTaps, kOther };

void note(std::vector<Use>& uses, TensorId id, Use use) {
  Use& known = uses[static_cast<std::size_t>(id)];
  known = known == Use::kNone || known == use ? use : Use::kOther;
}

/// How a weight that a product multiplies by is kept for it.
Use use_of_factor(const Graph& graph, const MatMul& op, const KernelTable& table, int threads, Products products) {
  const Tensor& tensor = graph.tensor(op.b.tensor);
  if (tensor.role != TensorRole::kWeight || tensor.dims.size() != 2 || !is_whole(op.b, tensor)) {
    return Use::kOther;
  }
  switch (product_kind(table, shape_of_product(graph, op), threads, products)) {
  case ProductKind::kOwn: return Use::kFactor;
  case ProductKind::kOneDnnMatmul: return Use::kOther; // reads weights as they are
  case ProductKind::kOneDnnConvolution: return Use::kBlocks;
  }
  return Use::kOther;
}

std::vector<Use> uses_of(const Graph& graph, const KernelTable& table, int threads, Products products) {
  std::vector<Use> uses(graph.tensors.size(), Use::kNone);
  for (const Op& op : graph.ops) {
    TensorId packed = -1;
    Use use = Use::kNone;
    if (const auto* product = std::get_if<MatMul>(&op.primitive)) {
      use = use_of_factor(graph, *product, table, threads, products);
      packed = use == Use::kOther ? -1 : product->b.tensor;
    } else if (const auto* conv = std::get_if<DepthwiseConv2d>(&op.primitive)) {
      const Tensor& tensor = graph.tensor(conv->w.tensor);
      if (tensor.role == TensorRole::kWeight && tensor.dims.size() == 3 && is_whole(conv->w, tensor)) {
        packed = conv->w.tensor;
        use = Use::kTaps;
      }
    }
    const Io io = io_of(op.primitive);
    int seen = 0;
    for (const std::vector<View>* views : {&io.reads, &io.writes}) {
      for (const View& view : *views) {
        // The packed operand is listed once; the same tensor in another operand needs the plain layout.
        const bool is_packed_operand = view.tensor == packed && seen++ == 0;
        note(uses, view.tensor, is_packed_operand ? use : Use::kOther);
      }
    }
  }
  return uses;
}

std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(round_to(DType::kBf16, value)) >> 16U);
}

class Elements {
 public:
  Elements(DType dtype, std::byte* data) : bf16_(dtype == DType::kBf16), data_(data) {}
  void set(std::int64_t at, float value) {
    if (bf16_) {
      const std::uint16_t bits = bf16_bits(value);
      std::memcpy(data_ + at * 2, &bits, 2);
    } else {
      std::memcpy(data_ + at * 4, &value, 4);
    }
  }
  [[nodiscard]] float get(std::int64_t at) const {
    float value = 0;
    if (bf16_) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, data_ + at * 2, 2);
      value = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
    } else {
      std::memcpy(&value, data_ + at * 4, 4);
    }
    return value;
  }

 private:
  bool bf16_;
  std::byte* data_;
};

/// Where element i of the row-major tensor lies.
std::int64_t place_of(const Storage& storage, std::int64_t i) {
  switch (storage.kind) {
  case Storage::Kind::kRowMajor: return i;
  case Storage::Kind::kPanels: {
    const std::int64_t row = i / storage.columns;
    const std::int64_t column = i % storage.columns;
    const std::int64_t panel = column / storage.tile_columns;
    return (panel * storage.rows + row) * storage.tile_columns + column % storage.tile_columns;
  }
  case Storage::Kind::kBlocks: {
    const std::int64_t row = i / storage.columns;
    const std::int64_t column = i % storage.columns;
    return (column / 8 * (storage.rows / 8) + row / 8) * 64 + row % 8 * 8 + column % 8;
  }
  case Storage::Kind::kTaps: return i % storage.rows * storage.columns + i / storage.rows;
  }
  return i;
}

} // namespace

std::vector<Storage> plan_storage(const Graph& graph, const KernelTable& table, int threads, Products products) {
  const std::vector<Use> uses = uses_of(graph, table, threads, products);
  std::vector<Storage> out(graph.tensors.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    Storage& storage = out[i];
    storage.dtype = tensor.dtype;
    if (uses[i] == Use::kNone) {
      continue;
    }
    storage.bytes = tensor.bytes().value();
    if (uses[i] == Use::kFactor) {
      storage.kind = Storage::Kind::kPanels;
      storage.rows = tensor.dims[0];
      storage.columns = tensor.dims[1];
      storage.tile_columns = table.tile_columns;
      const std::int64_t padded = round_up(storage.columns, storage.tile_columns);
      storage.bytes = (Count(storage.rows) * padded * size_bytes(tensor.dtype)).value();
    } else if (uses[i] == Use::kBlocks) {
      storage.kind = Storage::Kind::kBlocks;
      storage.rows = tensor.dims[0];
      storage.columns = tensor.dims[1];
    } else if (uses[i] == Use::kTaps) {
      storage.kind = Storage::Kind::kTaps;
      storage.rows = tensor.dims[1] * tensor.dims[2];
      storage.columns = tensor.dims[0];
    }
  }
  return out;
}

void store_values(const Storage& storage, std::span<const float> values, std::span<std::byte> bytes) {
  if (storage.kind == Storage::Kind::kRowMajor && storage.dtype == DType::kF32) {
    std::memcpy(bytes.data(), values.data(), values.size_bytes());
    return;
  }
  if (storage.kind == Storage::Kind::kPanels) {
    std::memset(bytes.data(), 0, bytes.size()); // the padding is multiplied by
  }
  Elements elements(storage.dtype, bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    elements.set(place_of(storage, static_cast<std::int64_t>(i)), values[i]);
  }
}

std::vector<float> load_values(const Storage& storage, std::int64_t count, std::span<const std::byte> bytes) {
  std::vector<float> out(static_cast<std::size_t>(count));
  const Elements elements(storage.dtype, const_cast<std::byte*>(bytes.data()));
  for (std::int64_t i = 0; i < count; ++i) {
    out[static_cast<std::size_t>(i)] = elements.get(place_of(storage, i));
  }
  return out;
}

} // namespace attnprof::operators::cpu
