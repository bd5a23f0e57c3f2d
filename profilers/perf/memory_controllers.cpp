#include "profilers/perf/memory_controllers.hpp"

#include "profilers/environment.hpp"
#include "profilers/system_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace attnprof::profilers {
namespace {

namespace fs = std::filesystem;

constexpr double kTransferBytes = 64;

std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex)
    text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Puts `value` where "config1:8-15" says; false for any other text.
bool place(EventCode& code, const std::string& format, std::uint64_t value) {
  const std::size_t colon = format.find(':');
  if (colon == std::string::npos)
    return false;
  const std::string where = format.substr(0, colon);
  const auto low = number_of(format.substr(colon + 1, format.find_first_of("-,", colon) - colon - 1));
  std::uint64_t* const word = where == "config"    ? &code.config
                              : where == "config1" ? &code.config1
                              : where == "config2" ? &code.config2
                                                   : nullptr;
  if (word == nullptr || !low || *low > 63)
    return false;
  *word |= value << *low;
  return true;
}

/// Bytes of one count by the files beside an event; a line where there are none.
std::optional<double> bytes_of(const fs::path& event) {
  const auto scale = read_text(event.string() + ".scale");
  if (!scale)
    return kTransferBytes;
  const double value = std::strtod(scale->c_str(), nullptr);
  const std::string unit = read_text(event.string() + ".unit").value_or("");
  const double factor = unit == "MiB" ? 1 << 20 : unit == "KiB" ? 1 << 10 : unit == "Bytes" || unit.empty() ? 1 : 0;
  return value > 0 && factor > 0 ? std::optional(value * factor) : std::nullopt;
}

void add_listed(std::vector<ControllerEvent>& out, const fs::path& device, std::uint32_t type, int processor) {
  constexpr std::array kNames{"cas_count_read", "cas_count_write", "data_reads", "data_writes"};
  for (const char* name : kNames) {
    const fs::path event = device / "events" / name;
    const auto terms = read_text(event);
    if (!terms)
      continue;
    auto code = placed_event(device, *terms);
    const auto bytes = bytes_of(event);
    if (!code || !bytes)
      continue;
    code->type = type;
    out.push_back({device.filename().string() + "/" + name, *code, processor, *bytes});
  }
}

void add_amd(std::vector<ControllerEvent>& out, const fs::path& device, std::uint32_t type, int processor) {
  constexpr std::array kNames{std::pair{"reads", "event=0x0a,rdwrmask=0x1"},
                              std::pair{"writes", "event=0x0a,rdwrmask=0x2"}};
  for (const auto& [name, terms] : kNames) {
    if (auto code = placed_event(device, terms)) {
      code->type = type;
      out.push_back({device.filename().string() + "/" + name, *code, processor, kTransferBytes});
    }
  }
}

} // namespace

std::optional<EventCode> placed_event(const fs::path& device, std::string_view terms) {
  EventCode out;
  std::istringstream parts{std::string(terms)};
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const auto value =
        equals == std::string::npos ? std::optional<std::uint64_t>(1) : number_of(part.substr(equals + 1));
    const auto format = read_text(device / "format" / part.substr(0, equals));
    if (!value || !format || !place(out, *format, *value))
      return std::nullopt;
  }
  return out;
}

std::vector<ControllerEvent> memory_controller_events(const fs::path& root) {
  std::vector<fs::path> devices;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/bus/event_source/devices", ignored))
    devices.push_back(entry.path());
  std::sort(devices.begin(), devices.end());
  std::vector<ControllerEvent> out;
  for (const fs::path& device : devices) {
    const std::string name = device.filename().string();
    const bool is_intel = name.starts_with("uncore_imc") && name.find("free_running") == std::string::npos;
    const bool is_amd = name.starts_with("amd_umc");
    const auto type = read_integer(device / "type");
    if ((!is_intel && !is_amd) || !type)
      continue;
    // One processor of each socket answers for its controllers.
    for (const int processor : parse_cpu_list(read_text(device / "cpumask").value_or("")))
      (is_intel ? add_listed : add_amd)(out, device, static_cast<std::uint32_t>(*type), processor);
  }
  return out;
}

} // namespace attnprof::profilers
