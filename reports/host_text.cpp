#include "reports/host_text.hpp"

#include "reports/charts.hpp"
#include "reports/format.hpp"

#include <fmt/format.h>

namespace attnprof::reports {

std::string host_line(const ResultSet& results) {
  if (!results.machine) {
    return "unknown (no machine.json beside the records)";
  }
  const profilers::Environment& host = results.machine->environment;
  std::string out = host.cpu_model.value_or("unknown processor");
  out += fmt::format(", {} {} usable", host.cores, host.cores == 1 ? "thread" : "threads");
  if (host.hypervisor) {
    out += *host.hypervisor ? ", virtual machine" : ", no hypervisor";
  }
  out += fmt::format(", governor {}", host.governor.value_or("unknown"));
  if (host.assertions) {
    out += ", DEBUG BUILD: times mean nothing";
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> host_facts(const profilers::Machine& machine) {
  const profilers::Environment& host = machine.environment;
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) {
      out.emplace_back(std::move(name), std::move(value));
    }
  };
  add("version", host.commit.empty() ? host.version : fmt::format("{} ({})", host.version, host.commit));
  add("build", host.build_type.empty() ? host.compiler : fmt::format("{}, {}", host.compiler, host.build_type));
  add("kernel", host.kernel.value_or(""));
  add("huge pages", host.huge_pages.value_or(""));
  add("timer",
      machine.timer.empty() ? "" : fmt::format("{}, step {}", machine.timer, seconds(machine.timer_resolution_s)));
  add("clock", machine.cpu_clock_hz ? si(machine.cpu_clock_hz, "Hz") : "");
  add("measured on", machine.measured_on.value_or(""));
  add("fingerprint", machine.fingerprint);
  return out;
}

namespace {

void add_unit(std::vector<std::string>& out, const std::string& name, const std::optional<UnitRoof>& roof,
              std::string_view unit) {
  if (roof) {
    out.push_back(fmt::format("{} ({}): {}, {}", name, roof->label, si(roof->per_s, unit), roof->origin));
  }
}

} // namespace

std::vector<std::string> ceiling_lines(const ResultSet& results) {
  const RooflineChart chart = roofline_chart(results);
  std::vector<std::string> out;
  if (chart.roofs.empty()) {
    return out;
  }
  const Roofs& roofs = chart.roofs.front().roofs;
  add_unit(out, "matrix products", roofs.matrix, "FLOP/s");
  add_unit(out, "element-wise", roofs.vector, "FLOP/s");
  add_unit(out, "exponentials", roofs.transcendental, "exp/s");
  for (const MemoryRoof& level : roofs.memory) {
    const std::string size = level.capacity_bytes ? fmt::format(" up to {}", capacity(*level.capacity_bytes)) : "";
    std::string line = fmt::format("{}{}{}{}: {}, {}", level.level, level.traffic.empty() ? "" : " ", level.traffic,
                                   size, si(level.bytes_per_s, "B/s"), level.origin);
    if (roofs.matrix) {
      line += fmt::format("; ridge at {} FLOP/B", plain(roofs.matrix->per_s / level.bytes_per_s));
    }
    out.push_back(std::move(line));
  }
  return out;
}

} // namespace attnprof::reports
