#include "reports/hardware.hpp"

#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "reports/json_reader.hpp"
#include "reports/record_json.hpp"
#include "reports/roofs.hpp"
#include "reports/spec_sheets.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Machine;

void add_compute(Machine& machine, std::string unit, std::string dtype, double per_s,
                 std::string_view origin = kSpecOrigin) {
  machine.compute.push_back({std::move(unit), std::move(dtype), "", 1, per_s, per_s, per_s, std::string(origin)});
}

void add_level(Machine& machine, std::string level, std::optional<std::int64_t> capacity_bytes, double bytes_per_s,
               std::string_view origin = kSpecOrigin) {
  machine.bandwidth.push_back({level, "any", 1, bytes_per_s, bytes_per_s, bytes_per_s, 0, std::string(origin)});
  machine.levels.push_back({std::move(level), 1, capacity_bytes, std::string(origin)});
}

Hardware hardware_from(const SpecSheet& sheet) {
  Hardware out;
  out.name = sheet.name;
  out.summary = sheet.summary;
  out.machine.environment.cpu_model = out.summary;
  std::vector<std::string> sources;
  for (const SheetFigure& figure : sheet.figures) {
    out.figures.push_back({std::string(figure.what), figure.per_s, std::string(figure.source)});
    if (std::find(sources.begin(), sources.end(), figure.source) == sources.end()) {
      sources.emplace_back(figure.source);
    }
    const std::size_t blank = figure.what.find(' ');
    if (blank == std::string_view::npos) {
      add_level(out.machine, std::string(figure.what), {}, figure.per_s);
    } else {
      add_compute(out.machine, std::string(figure.what.substr(0, blank)), std::string(figure.what.substr(blank + 1)),
                  figure.per_s);
    }
  }
  out.source = fmt::format("{}", fmt::join(sources, "; "));
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

void read_levels(const JsonReader& reader, Machine& machine, std::string_view origin) {
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
    add_level(machine, level, capacity_bytes, positive(levels[i], "bytes_per_s"), origin);
  }
}

} // namespace

const std::vector<Hardware>& known_hardware() {
  static const std::vector<Hardware> kKnown = [] {
    std::vector<Hardware> out;
    for (const SpecSheet& sheet : spec_sheets()) {
      out.push_back(hardware_from(sheet));
    }
    return out;
  }();
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
  const std::string origin =
      reader.text("origin").empty() ? std::string(kSpecOrigin) : one_of(reader, "origin", {kSpecOrigin, kDeviceOrigin});
  for (const JsonReader& each : reader.objects("compute")) {
    const std::string unit = one_of(each, "unit", {"fma", "tensor", "exp"});
    const std::string dtype = one_of(each, "dtype", {"f32", "tf32", "f16", "bf16"});
    add_compute(out.machine, unit, dtype, positive(each, "flops_per_s"), origin);
  }
  read_levels(reader, out.machine, origin);
  if (out.machine.compute.empty() && out.machine.bandwidth.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} states no ceiling: give 'compute' or 'bandwidth'", what));
  }
  return out;
}

std::vector<CeilingRow> ceiling_rows(const operators::gpu::DeviceFacts& device,
                                     const operators::gpu::DeviceCeilings& ceilings) {
  std::vector<CeilingRow> out;
  const auto row_of = [&](std::string_view what) -> CeilingRow& {
    const auto at = std::find_if(out.begin(), out.end(), [&](const CeilingRow& row) { return row.what == what; });
    return at != out.end() ? *at : out.emplace_back(CeilingRow{std::string(what), {}, {}, {}});
  };
  for (const operators::gpu::DeviceCeiling& one : ceilings.measured) {
    row_of(one.what).measured = one;
  }
  for (const operators::gpu::DeviceCeiling& one : ceilings.sustained) {
    row_of(one.what).sustained = one;
  }
  if (const SpecSheet* sheet = spec_sheet_of(device.name)) {
    for (const SheetFigure& figure : sheet->figures) {
      row_of(figure.what).sheet = StatedFigure{std::string(figure.what), figure.per_s, std::string(figure.source)};
    }
  }
  return out;
}

std::string device_json(const operators::gpu::DeviceFacts& device, const operators::gpu::DeviceCeilings& ceilings) {
  Json out = {{"name", device.name}, {"summary", device.name}, {"origin", kDeviceOrigin}};
  Json compute = Json::array();
  Json bandwidth = Json::array();
  Json beside = Json::array();
  std::vector<std::string> sources;
  for (const operators::gpu::DeviceCeiling& one : ceilings.measured) {
    const std::size_t blank = one.what.find(' ');
    if (blank != std::string::npos) {
      compute.push_back(
          {{"unit", one.what.substr(0, blank)}, {"dtype", one.what.substr(blank + 1)}, {"flops_per_s", one.per_s}});
    } else if (one.what == "DRAM") {
      bandwidth.push_back({{"level", one.what}, {"bytes_per_s", one.per_s}});
    } else { // caches stand before the memory, and need their size
      const Json cache = {{"level", one.what}, {"bytes_per_s", one.per_s}, {"capacity_bytes", device.l2_bytes}};
      bandwidth.insert(bandwidth.begin(), cache);
    }
    sources.push_back(fmt::format("{}: {}", one.what, one.source));
  }
  const auto add_beside = [&](const std::string& what, std::string_view origin, const auto& stated) {
    if (stated) {
      beside.push_back({{"what", what}, {"origin", origin}, {"per_s", stated->per_s}, {"source", stated->source}});
    }
  };
  for (const CeilingRow& row : ceiling_rows(device, ceilings)) {
    add_beside(row.what, "cupti", row.sustained);
    add_beside(row.what, kSpecOrigin, row.sheet);
  }
  out["source"] = fmt::format("measured on this device; {}", fmt::join(sources, "; "));
  out["compute"] = std::move(compute);
  out["bandwidth"] = std::move(bandwidth);
  out["beside"] = std::move(beside);
  if (!ceilings.sustained_refusal.empty()) {
    out["cupti_unavailable"] = ceilings.sustained_refusal;
  }
  return json_text(out, 1) + "\n";
}

Hardware find_hardware(Files& files, const std::string& name_or_path) {
  std::vector<std::string> names;
  const Hardware* only = nullptr; // "h100" for "h100-sxm", where there is no other h100
  std::size_t forms = 0;
  for (const Hardware& known : known_hardware()) {
    if (known.name == name_or_path) {
      return known;
    }
    if (known.name.starts_with(name_or_path + "-")) {
      only = &known;
      ++forms;
    }
    names.push_back(known.name);
  }
  const auto text = files.is_directory(name_or_path) ? std::nullopt : files.read(name_or_path);
  if (!text && forms == 1) {
    return *only;
  }
  if (!text) {
    const std::string nearest = operators::nearest_name(name_or_path, names);
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is neither a file nor known hardware{}; known are {}", name_or_path,
                            nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest), fmt::join(names, ", ")));
  }
  return hardware_from_json(*text, name_or_path);
}

} // namespace attnprof::reports
