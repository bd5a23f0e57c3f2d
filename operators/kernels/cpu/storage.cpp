#include "operators/kernels/cpu/storage.hpp"

#include "operators/core/io.hpp"
#include "operators/exec/fill.hpp"
#include "operators/kernels/cpu/onednn_product.hpp"

#include <bit>
#include <cstring>

namespace attnprof::operators::cpu {
namespace {

enum class Use { kNone, kFactor, kTaps, kOther };

/// Whether the view is the whole tensor, repeated over leading dimensions at most.
bool is_whole(const View& view, const Tensor& tensor) {
  const std::size_t rank = tensor.dims.size();
  if (view.offset != 0 || view.rank() < rank) {
    return false;
  }
  const Extents dense = dense_strides(tensor.dims);
  for (std::size_t i = 0; i < view.rank(); ++i) {
    const std::size_t leading = view.rank() - rank;
    if (i < leading ? view.strides[i] != 0 : view.dims[i] != tensor.dims[i - leading]) {
      return false;
    }
    if (i >= leading && view.dims[i] != 1 && view.strides[i] != dense[i - leading]) {
      return false;
    }
  }
  return true;
}

void note(std::vector<Use>& uses, TensorId id, Use use) {
  Use& known = uses[static_cast<std::size_t>(id)];
  known = known == Use::kNone || known == use ? use : Use::kOther;
}

/// oneDNN reads weights as they are.
bool runs_on_onednn(const MatMul& op, DType dtype, const KernelTable& table) {
  const std::int64_t n = op.c.dims.back();
  return onednn_takes(table, dtype, op.c.elements().value() / n, n, op.a.dims.back());
}

std::vector<Use> uses_of(const Graph& graph, const KernelTable& table) {
  std::vector<Use> uses(graph.tensors.size(), Use::kNone);
  for (const Op& op : graph.ops) {
    TensorId packed = -1;
    Use use = Use::kNone;
    if (const auto* product = std::get_if<MatMul>(&op.primitive)) {
      const Tensor& tensor = graph.tensor(product->b.tensor);
      if (tensor.role == TensorRole::kWeight && tensor.dims.size() == 2 && is_whole(product->b, tensor) &&
          !runs_on_onednn(*product, tensor.dtype, table)) {
        packed = product->b.tensor;
        use = Use::kFactor;
      }
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
  case Storage::Kind::kTaps: return i % storage.rows * storage.columns + i / storage.rows;
  }
  return i;
}

} // namespace

std::vector<Storage> plan_storage(const Graph& graph, const KernelTable& table) {
  const std::vector<Use> uses = uses_of(graph, table);
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
