// Machines known from data sheets only, for `cost --hw`: built-in ones by name, others from a file.
#pragma once
#include "operators/kernels/gpu/device.hpp"
#include "profilers/machine.hpp"
#include "reports/files.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

/// One stated peak: "tensor bf16" in FLOP/s, "DRAM" in B/s.
struct StatedFigure {
  std::string what;
  double per_s = 0;
  std::string source;
};

/// A data sheet. All of its ceilings have origin "spec".
struct Hardware {
  std::string name;
  std::string summary;
  std::string source; ///< where the figures come from
  profilers::Machine machine;
  std::vector<StatedFigure> figures; ///< of built-in sheets, each with its own source
};

/// Sorted by name. Dense peaks only; figures with sparsity are no ceiling for dense work.
const std::vector<Hardware>& known_hardware();

/// Reads {"name", "source", "compute": [{"unit", "dtype", "flops_per_s"}], "bandwidth": [{"level", "bytes_per_s",
/// "capacity_bytes"}]}. Units: fma, tensor, exp; dtypes: f32, tf32, f16, bf16. Levels stand nearest first, and all but
/// the last, DRAM, need their capacity. Throws operators::Error(kUsage) that names `what` and the key.
Hardware hardware_from_json(std::string_view text, std::string_view what);

/// What was measured on a GPU in that format, for `--hw`; "origin" is "device" in place of "spec". "beside" holds what
/// CUPTI and the data sheet state for the same ceilings, each with its origin and source; nothing is held against them.
std::string device_json(const operators::gpu::DeviceFacts& device, const operators::gpu::DeviceCeilings& ceilings);

/// A ceiling of a GPU by all who know it.
struct CeilingRow {
  std::string what;
  std::optional<operators::gpu::DeviceCeiling> measured;
  std::optional<operators::gpu::DeviceCeiling> sustained; ///< CUPTI's
  std::optional<StatedFigure> sheet;                      ///< of the data sheet for this device
};
/// In the order of the measured ones, then those that are only stated.
std::vector<CeilingRow> ceiling_rows(const operators::gpu::DeviceFacts& device,
                                     const operators::gpu::DeviceCeilings& ceilings);

/// The built-in machine of this name, or of its first part where only one begins so (h100), else the file of this path.
/// Throws operators::Error(kUsage) that lists the names.
Hardware find_hardware(Files& files, const std::string& name_or_path);

} // namespace attnprof::reports
