#pragma once
#include "operators/core/graph.hpp"
#include "operators/exec/executor.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace attnprof::operators::cpu {

/// How a tensor lies in memory. A weight that is only ever multiplied by is kept packed, in one place and once: what a
/// launch reads is what memory() of the program names.
struct Storage {
  enum class Kind {
    kRowMajor,
    kPanels, ///< [columns / tile_columns][rows][tile_columns], zero padded; tensor is [rows, columns]
    kBlocks, ///< oneDNN's OIhw8i8o of a 1x1 kernel: [columns / 8][rows / 8][8 rows][8 columns]; tensor is [rows,
             ///< columns]
    kTaps,   ///< [taps][channels]; tensor is [channels, kernel_h, kernel_w]
  };
  Kind kind = Kind::kRowMajor;
  DType dtype = DType::kF32;
  std::int64_t rows = 0, columns = 0; ///< of the packed kinds; taps and channels for kTaps
  std::int64_t tile_columns = 1;
  std::int64_t bytes = 0;
};

/// One entry per tensor. Tensors that no op touches take no bytes.
std::vector<Storage> plan_storage(const Graph& graph, const KernelTable& table, int threads, Products products);

/// Rounds values in row-major order to the dtype and puts them in place; `bytes` is the tensor's memory.
void store_values(const Storage& storage, std::span<const float> values, std::span<std::byte> bytes);
std::vector<float> load_values(const Storage& storage, std::int64_t elements, std::span<const std::byte> bytes);

} // namespace attnprof::operators::cpu
