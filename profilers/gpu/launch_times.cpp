#include "profilers/gpu/launch_times.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::profilers {

TracedRun traced_run(const operators::gpu::ActivityReport& report, std::size_t launches) {
  TracedRun out;
  out.launch_s.resize(launches);
  out.kernels.resize(launches, 0);
  std::optional<std::int64_t> first;
  std::int64_t last = 0;
  for (const operators::gpu::KernelSpan& kernel : report.kernels) {
    const double time_s = static_cast<double>(kernel.end_ns - kernel.begin_ns) * 1e-9;
    const auto launch = static_cast<std::size_t>(kernel.launch);
    if (kernel.launch < 0 || launch >= launches) {
      ++out.unattributed;
      continue;
    }
    out.launch_s[launch] = out.launch_s[launch].value_or(0) + time_s;
    ++out.kernels[launch];
    out.kernel_s += time_s;
    first = std::min(first.value_or(kernel.begin_ns), kernel.begin_ns);
    last = std::max(last, kernel.end_ns);
  }
  out.span_s = first ? static_cast<double>(last - *first) * 1e-9 : 0.0;
  return out;
}

TracedTimes traced_times(const std::vector<operators::gpu::ActivityReport>& runs, std::size_t launches) {
  TracedTimes out;
  out.launch_s.resize(launches);
  std::vector<std::vector<double>> times(launches);
  std::vector<double> totals;
  std::vector<double> gaps;
  std::int64_t dropped = 0;
  std::int64_t invalid = 0;
  std::int64_t unattributed = 0;
  for (const operators::gpu::ActivityReport& report : runs) {
    const TracedRun run = traced_run(report, launches);
    dropped += report.dropped;
    invalid += report.invalid;
    unattributed += run.unattributed;
    bool whole = true;
    for (std::size_t i = 0; i < launches; ++i) {
      whole = whole && run.launch_s[i].has_value();
      if (run.launch_s[i]) {
        times[i].push_back(*run.launch_s[i]);
      }
    }
    if (whole) { // sums over some of the launches would look fast
      totals.push_back(run.kernel_s);
      gaps.push_back(std::max(0.0, run.span_s - run.kernel_s));
      out.kernels = 0;
      for (const std::int64_t kernels : run.kernels) {
        out.kernels += kernels;
      }
    }
  }
  for (std::size_t i = 0; i < launches; ++i) {
    out.launch_s[i] = median(times[i]);
  }
  out.kernel_s = median(totals);
  out.gap_s = median(gaps);
  if (dropped + invalid + unattributed > 0) {
    out.warnings.push_back(fmt::format("of the activity records {} were dropped, {} had no time and {} belong to no "
                                       "launch; launch times are from the others",
                                       dropped, invalid, unattributed));
  }
  return out;
}

} // namespace attnprof::profilers
