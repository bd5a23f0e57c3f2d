#include "profilers/host_probe.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace attnprof::profilers {

LinuxHostProbe::LinuxHostProbe(std::string proc_stat_path)
    : stat_file_(::open(proc_stat_path.c_str(), O_RDONLY | O_CLOEXEC)) {}

LinuxHostProbe::~LinuxHostProbe() {
  if (stat_file_ >= 0)
    ::close(stat_file_);
}

std::optional<double> parse_steal_s(const std::string& proc_stat, double ticks_per_s) {
  std::istringstream line(proc_stat);
  std::string label;
  if (!(line >> label) || label != "cpu" || !(ticks_per_s > 0))
    return std::nullopt;
  // user nice system idle iowait irq softirq steal
  std::int64_t ticks = 0;
  for (int field = 0; field < 8; ++field)
    if (!(line >> ticks))
      return std::nullopt;
  return static_cast<double>(ticks) / ticks_per_s;
}

std::optional<double> LinuxHostProbe::steal_s() {
  if (stat_file_ < 0)
    return std::nullopt;
  // The kernel counts steal in ticks of 10 ms and formats a line per processor: reading more often only costs.
  constexpr std::int64_t kTickNs = 10'000'000;
  const std::int64_t now = clock_.now_ns();
  if (steal_read_at_ns_ && now - *steal_read_at_ns_ < kTickNs)
    return steal_s_;
  steal_read_at_ns_ = now;
  std::array<char, 512> text{};
  const ssize_t size = ::pread(stat_file_, text.data(), text.size(), 0);
  steal_s_.reset();
  if (size > 0)
    steal_s_ = parse_steal_s(std::string(text.data(), static_cast<std::size_t>(size)),
                             static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return steal_s_;
}

HostReading LinuxHostProbe::read() {
  HostReading reading;
  reading.steal_s = steal_s();
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    reading.page_faults = usage.ru_minflt + usage.ru_majflt;
    reading.context_switches = usage.ru_nvcsw + usage.ru_nivcsw;
  }
  return reading;
}

bool LinuxHostProbe::spin_cycles(std::int64_t cycles) {
  // Rotates, not adds: recent cores execute additions of a constant in the rename stage, in no time at all.
  constexpr std::int64_t kUnroll = 64;
  std::uint64_t value = 1;
  for (std::int64_t done = 0; done < cycles; done += kUnroll) {
#if defined(__x86_64__)
    asm volatile(".rept 64\n\trol $1, %0\n\t.endr" : "+r"(value) : : "cc");
#elif defined(__aarch64__)
    asm volatile(".rept 64\n\tror %0, %0, #1\n\t.endr" : "+r"(value));
#else
    return false;
#endif
  }
  return true;
}

bool LinuxHostProbe::spin_independent(std::int64_t operations) {
  // Of a register, not of a constant: see above.
  constexpr std::int64_t kUnroll = 64;
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  const std::uint64_t mask = 5;
  for (std::int64_t done = 0; done < operations; done += kUnroll) {
#if defined(__x86_64__)
    asm volatile(".rept 16\n\txor %4, %0\n\txor %4, %1\n\txor %4, %2\n\txor %4, %3\n\t.endr"
                 : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
                 : "r"(mask)
                 : "cc");
#elif defined(__aarch64__)
    asm volatile(".rept 16\n\teor %0, %0, %4\n\teor %1, %1, %4\n\teor %2, %2, %4\n\teor %3, %3, %4\n\t.endr"
                 : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
                 : "r"(mask));
#else
    return false;
#endif
  }
  return true;
}

namespace {

/// Operations a second of the better of two short loops: one that the system interrupted says nothing.
template <class Spin>
std::optional<double> best_rate(Clock& clock, std::int64_t operations, Spin&& spin) {
  constexpr int kLoops = 2;
  std::optional<double> best;
  for (int i = 0; i < kLoops; ++i) {
    const std::int64_t begin = clock.now_ns();
    const bool spun = spin(operations);
    const std::int64_t end = clock.now_ns();
    if (spun && end > begin)
      best = std::max(best.value_or(0.0), static_cast<double>(operations) / seconds_between(begin, end));
  }
  return best;
}

} // namespace

CoreReading measure_core(Clock& clock, HostProbe& host) {
  constexpr std::int64_t kChained = 64 * 160;
  constexpr std::int64_t kIndependent = 64 * 320;
  // The clock may rise between the two kinds of loops; four chains cannot do more than this.
  constexpr double kMostRate = 4.0;
  CoreReading out;
  out.clock_hz = best_rate(clock, kChained, [&](std::int64_t cycles) { return host.spin_cycles(cycles); });
  const std::optional<double> rate =
      best_rate(clock, kIndependent, [&](std::int64_t operations) { return host.spin_independent(operations); });
  if (out.clock_hz && rate)
    out.issue_rate = std::min(*rate / *out.clock_hz, kMostRate);
  return out;
}

bool is_core_shared(double rate, double best) {
  return rate < 0.85 * best;
}

std::optional<double> measure_cpu_clock_hz(Clock& clock, HostProbe& host) {
  constexpr std::int64_t kCycles = 64 * 320;
  const std::int64_t begin = clock.now_ns();
  const bool spun = host.spin_cycles(kCycles);
  const std::int64_t end = clock.now_ns();
  if (!spun || end <= begin)
    return std::nullopt;
  return static_cast<double>(kCycles) / seconds_between(begin, end);
}

} // namespace attnprof::profilers
