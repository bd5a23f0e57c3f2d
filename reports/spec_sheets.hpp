// Data sheets as plain figures, each with where it is stated.
#pragma once
#include <span>
#include <string_view>

namespace attnprof::reports {

/// One peak of a data sheet, in SI units, dense: figures with sparsity are no ceiling for dense work.
struct SheetFigure {
  /// "fma f32", "tensor f16", "tensor bf16", "tensor tf32": FLOP/s; "DRAM": B/s.
  std::string_view what;
  double per_s = 0;
  /// The document, and the page that quotes it where the document itself was not at hand.
  std::string_view source;
};

struct SpecSheet {
  std::string_view name;
  std::string_view summary;
  std::string_view device; ///< how the name that its driver reports begins; empty for processors
  std::span<const SheetFigure> figures;
};

/// Sorted by name.
std::span<const SpecSheet> spec_sheets();

/// The sheet of a GPU by the name that its driver reports, such as "NVIDIA H200"; null where none is known.
const SpecSheet* spec_sheet_of(std::string_view device_name);

} // namespace attnprof::reports
