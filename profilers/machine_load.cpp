#include "profilers/machine_load.hpp"

#include "profilers/system_files.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace attnprof::profilers {

std::optional<double> parse_busy_s(const std::string& proc_stat, double ticks_per_s) {
  std::istringstream line(proc_stat);
  std::string label;
  if (!(line >> label) || label != "cpu" || !(ticks_per_s > 0))
    return std::nullopt;
  // user nice system idle iowait irq softirq steal
  constexpr std::array kIsBusy{true, true, true, false, false, true, true, true};
  std::int64_t busy = 0;
  for (const bool is_busy : kIsBusy) {
    std::int64_t ticks = 0;
    if (!(line >> ticks))
      return std::nullopt;
    busy += is_busy ? ticks : 0;
  }
  return static_cast<double>(busy) / ticks_per_s;
}

LoadReading read_load(const std::filesystem::path& root, Clock& clock) {
  LoadReading out;
  out.at_ns = clock.now_ns();
  if (const auto text = read_text(root / "proc/stat"))
    out.busy_s = parse_busy_s(*text, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    out.own_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return out;
}

std::optional<std::string> note_of_load(const LoadReading& before, const LoadReading& after, int cores) {
  constexpr double kWorthSaying = 0.1;
  const double elapsed_s = seconds_between(before.at_ns, after.at_ns);
  if (!before.busy_s || !after.busy_s || !before.own_s || !after.own_s || !(elapsed_s > 0) || cores < 1)
    return std::nullopt;
  const double others_s = *after.busy_s - *before.busy_s - (*after.own_s - *before.own_s);
  const double share = std::min(1.0, others_s / (elapsed_s * cores));
  if (share < kWorthSaying)
    return std::nullopt;
  return fmt::format(
      "other programs used {:.0f} % of the processors while this was measured, so its ceilings may be too "
      "low, by more than their spread says; measuring again keeps the best of both",
      100 * share);
}

} // namespace attnprof::profilers
