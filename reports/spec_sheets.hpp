// Data sheets as plain figures, each with where it is stated.
#pragma once
#include <span>
#include <string_view>

namespace attnprof::reports {

/// One peak of a data sheet, in SI units, dense: figures with sparsity are no ceiling for dense work.
struct SheetFigure {
  /// "fma f32", "tensor f16", "tensor bf16": FLOP/s; "DRAM": B/s.
  std::string_view what;
  double per_s = 0;
  std::string_view source;
};

struct SpecSheet {
  std::string_view name;
  std::string_view summary;
  std::span<const SheetFigure> figures;
};

/// Sorted by name.
std::span<const SpecSheet> spec_sheets();

} // namespace attnprof::reports
