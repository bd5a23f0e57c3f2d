#include "reports/hardware.hpp"

#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "reports/json_reader.hpp"
#include "reports/roofs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Machine;

void add_compute(Machine& machine, std::string unit, std::string dtype, double per_s) {
  machine.compute.push_back({std::move(unit), std::move(dtype), "", 1, per_s, per_s, per_s, std::string(kSpecOrigin)});
}

void add_level(Machine& machine, std::string level, std::optional<std::int64_t> capacity_bytes, double bytes_per_s) {
  machine.bandwidth.push_back({level, "any", 1, bytes_per_s, bytes_per_s, bytes_per_s, 0, std::string(kSpecOrigin)});
  machine.levels.push_back({std::move(level), 1, capacity_bytes, std::string(kSpecOrigin)});
}

struct GpuSheet {
  std::string name;
  std::string summary;
  std::string source;
  double f32_flops_per_s;
  double f16_flops_per_s;  ///< tensor cores, dense, f32 accumulation
  double bf16_flops_per_s; ///< 0: none
  double bytes_per_s;
};

Hardware gpu(const GpuSheet& sheet) {
  Hardware out{sheet.name, sheet.summary, sheet.source, {}};
  out.machine.environment.cpu_model = sheet.summary;
  add_compute(out.machine, "fma", "f32", sheet.f32_flops_per_s);
  add_compute(out.machine, "tensor", "f16", sheet.f16_flops_per_s);
  if (sheet.bf16_flops_per_s > 0.0) {
    add_compute(out.machine, "tensor", "bf16", sheet.bf16_flops_per_s);
  }
  add_level(out.machine, "DRAM", {}, sheet.bytes_per_s);
  return out;
}

double positive(const JsonReader& reader, std::string_view key) {
  const auto value = reader.real(key);
  if (!value || !(*value > 0.0)) {
    reader.reject(key, "a positive number");
  }
  return *value;
}

std::string one_of(const JsonReader& reader, std::string_view key, std::initializer_list<std::string_view> allowed) {
  const std::string value = reader.needed_text(key);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    reader.reject(key, fmt::format("one of {}", fmt::join(allowed, ", ")));
  }
  return value;
}

void read_levels(const JsonReader& reader, Machine& machine) {
  const auto levels = reader.objects("bandwidth");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const bool is_last = i + 1 == levels.size();
    const std::string level = levels[i].needed_text("level");
    if (is_last != (level == "DRAM")) {
      levels[i].reject("level", is_last ? "DRAM, since it is the last" : "a cache, since DRAM stands last");
    }
    const auto capacity_bytes = is_last ? std::nullopt : std::optional(levels[i].needed_integer("capacity_bytes"));
    if (capacity_bytes && *capacity_bytes <= 0) {
      levels[i].reject("capacity_bytes", "a positive size");
    }
    add_level(machine, level, capacity_bytes, positive(levels[i], "bytes_per_s"));
  }
}

} // namespace

const std::vector<Hardware>& known_hardware() {
  static const std::vector<Hardware> kKnown = {
      gpu({"a100-sxm-80gb", "NVIDIA A100 SXM 80 GB", "NVIDIA A100 Tensor Core GPU data sheet, dense figures", 19.5e12,
           312e12, 312e12, 2.039e12}),
      gpu({"h100-sxm", "NVIDIA H100 SXM",
           "NVIDIA H100 Tensor Core GPU data sheet, dense figures (half of those with sparsity)", 67e12, 989e12, 989e12,
           3.35e12}),
      gpu({"h200-sxm", "NVIDIA H200 SXM",
           "NVIDIA H200 Tensor Core GPU data sheet, dense figures (half of those with sparsity)", 67e12, 989e12, 989e12,
           4.8e12}),
      gpu({"v100-sxm2", "NVIDIA V100 SXM2", "NVIDIA V100 Tensor Core GPU data sheet", 15.7e12, 125e12, 0, 0.9e12}),
  };
  return kKnown;
}

Hardware hardware_from_json(std::string_view text, std::string_view what) {
  const Json json = parse_json(text, what);
  const JsonReader reader(json, std::string(what));
  Hardware out;
  out.name = reader.needed_text("name");
  out.source = reader.needed_text("source");
  out.summary = reader.text("summary");
  out.machine.environment.cpu_model = out.summary.empty() ? out.name : out.summary;
  for (const JsonReader& each : reader.objects("compute")) {
    const std::string unit = one_of(each, "unit", {"fma", "tensor", "exp"});
    const std::string dtype = one_of(each, "dtype", {"f32", "f16", "bf16"});
    add_compute(out.machine, unit, dtype, positive(each, "flops_per_s"));
  }
  read_levels(reader, out.machine);
  if (out.machine.compute.empty() && out.machine.bandwidth.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} states no ceiling: give 'compute' or 'bandwidth'", what));
  }
  return out;
}

Hardware find_hardware(Files& files, const std::string& name_or_path) {
  std::vector<std::string> names;
  for (const Hardware& known : known_hardware()) {
    if (known.name == name_or_path) {
      return known;
    }
    names.push_back(known.name);
  }
  const auto text = files.is_directory(name_or_path) ? std::nullopt : files.read(name_or_path);
  if (!text) {
    const std::string nearest = operators::nearest_name(name_or_path, names);
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is neither a file nor known hardware{}; known are {}", name_or_path,
                            nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest), fmt::join(names, ", ")));
  }
  return hardware_from_json(*text, name_or_path);
}

} // namespace attnprof::reports
