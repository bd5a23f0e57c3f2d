#include "profilers/energy.hpp"

#include "profilers/system_files.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <system_error>

namespace attnprof::profilers {
namespace {

namespace fs = std::filesystem;

/// "intel-rapl:0" and "intel-rapl:0:2", also on AMD. The same packages appear again as intel-rapl-mmio.
std::vector<fs::path> zone_folders(const fs::path& root) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/powercap", ignored))
    if (entry.path().filename().string().starts_with("intel-rapl:"))
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

double joules(std::int64_t microjoules) {
  return static_cast<double>(microjoules) * 1e-6;
}

} // namespace

std::optional<double> energy_between_j(std::optional<std::int64_t> before_uj, std::optional<std::int64_t> after_uj,
                                       std::optional<std::int64_t> range_uj) {
  if (!before_uj || !after_uj)
    return std::nullopt;
  if (*after_uj >= *before_uj)
    return joules(*after_uj - *before_uj);
  if (!range_uj || *range_uj < *before_uj)
    return std::nullopt;
  return joules(*range_uj - *before_uj + *after_uj);
}

EnergyMeter::EnergyMeter(const fs::path& root, std::optional<bool> hypervisor) {
  bool any_refused = false;
  for (const fs::path& folder : zone_folders(root)) {
    const std::string name = read_text(folder / "name").value_or("");
    const bool is_dram = name == "dram";
    if (!is_dram && !name.starts_with("package"))
      continue; // cores and graphics are parts of their package, psys is more than it
    if (!read_integer(folder / "energy_uj")) {
      any_refused = true;
      continue;
    }
    zones_.push_back({folder, is_dram, read_integer(folder / "max_energy_range_uj")});
  }
  const bool any_package =
      std::any_of(zones_.begin(), zones_.end(), [](const EnergyZone& zone) { return !zone.is_dram; });
  if (any_package)
    return;
  zones_.clear();
  if (any_refused) {
    fault_ = "the energy totals are there, but only root may read them";
    fix_ = "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj as root, or run as root";
  } else if (hypervisor.value_or(false)) {
    fault_ = "this virtual machine exposes no energy totals";
    fix_ = "run on bare metal";
  } else {
    fault_ = "the system has no powercap zone of a processor package";
    fix_ = "modprobe intel_rapl_msr as root; processors without RAPL have none";
  }
}

std::vector<std::optional<std::int64_t>> EnergyMeter::read() const {
  std::vector<std::optional<std::int64_t>> out;
  for (const EnergyZone& zone : zones_)
    out.push_back(read_integer(zone.folder / "energy_uj"));
  return out;
}

RunEnergy measure_energy(const EnergyMeter& meter, const std::function<void()>& body, double run_s, double time_s,
                         Clock& clock) {
  RunEnergy out;
  if (!meter.fault().empty()) {
    out.origin = fmt::format("unavailable: {}{}{}", meter.fault(), meter.fix().empty() ? "" : "; ", meter.fix());
    return out;
  }
  const double wanted = run_s > 0 ? std::ceil(time_s / run_s) : 1;
  const auto runs = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(wanted, 1e9)));
  const auto before = meter.read();
  const std::int64_t begin_ns = clock.now_ns();
  for (std::int64_t i = 0; i < runs; ++i)
    body();
  const double spent_s = seconds_between(begin_ns, clock.now_ns());
  const auto after = meter.read();
  bool complete = true;
  for (std::size_t i = 0; i < meter.zones().size(); ++i) {
    const EnergyZone& zone = meter.zones()[i];
    const auto energy_j = energy_between_j(before[i], after[i], zone.range_uj);
    complete = complete && energy_j;
    std::optional<double>& sum = zone.is_dram ? out.dram_j : out.package_j;
    sum = sum.value_or(0) + energy_j.value_or(0) / static_cast<double>(runs);
  }
  if (!complete || !(out.package_j > 0.0)) {
    out = {};
    out.origin = complete ? fmt::format("unavailable: the energy totals did not move in {:.3g} s", spent_s)
                          : "unavailable: an energy total could not be read, or started again after an unknown range";
    return out;
  }
  out.origin =
      fmt::format("counter: powercap totals of {} zone{} over {} run{} in {:.3g} s, everything on the machine "
                  "included",
                  meter.zones().size(), meter.zones().size() == 1 ? "" : "s", runs, runs == 1 ? "" : "s", spent_s);
  return out;
}

} // namespace attnprof::profilers
