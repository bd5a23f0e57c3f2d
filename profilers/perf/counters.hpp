// Counters of the processor and the kernel: which work here, and what a body of work counts.
#pragma once

#include "profilers/clock.hpp"
#include "profilers/perf/check_kernels.hpp"
#include "profilers/perf/counter_files.hpp"
#include "profilers/perf/counter_refusal.hpp"
#include "profilers/perf/counter_totals.hpp"
#include "profilers/probes.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// One figure and whether it can be counted here.
struct CounterVerdict {
  CounterQuantity quantity = CounterQuantity::kCycles;
  ProbeVerdict verdict = ProbeVerdict::kAbsent;
  std::string reason; ///< a sentence without its full stop
  std::string fix;
  std::vector<CounterEvent> events; ///< that are counted for it; empty unless the verdict is ok
};

struct CounterPassOptions {
  double min_time_s = 0.05; ///< of one pass: the body is repeated
  double most_s = 1;        ///< of all passes together; a body for which that is too little is not counted
  std::int64_t most_runs = 1000;
};

/// What one counter pass found.
struct CounterPass {
  CounterTotals totals;
  std::string origin; ///< the `counter_origin` column: what was counted and how, and why the rest was not
};

class Counters {
 public:
  /// `kernels` test the counters of the PMU before they are used.
  Counters(std::shared_ptr<PerfSystem> system, CounterHost host, std::vector<CheckKernel> kernels);

  /// One verdict a figure, in the order of kCounterQuantities; found at the first call, which takes a second or less.
  const std::vector<CounterVerdict>& survey();
  /// True when at least cycles or instructions can be counted.
  bool has_pmu();
  /// One sentence for all figures: what can be counted here, and why the rest cannot.
  std::string summary();

  /// Runs `body` once, then in as many passes as there are groups of events. `prepare` runs before each run, uncounted;
  /// empty: nothing. Opens its files when it starts and closes them when it ends.
  CounterPass measure(const std::function<void()>& body, const std::function<void()>& prepare,
                      const CounterPassOptions& options, Clock& clock);

 private:
  struct Pass {
    std::map<CounterQuantity, std::vector<WeightedCount>> parts;
    std::map<CounterQuantity, std::string> faults;
    std::optional<double> coverage;
    double time_s = 0;
    std::int64_t passes = 0;
  };
  CounterVerdict find(CounterQuantity quantity);
  CounterVerdict find_open(CounterQuantity quantity, std::vector<CounterChoice> choices);
  void check(CounterVerdict& found);
  std::optional<double> check_ratio_of(const CounterVerdict& found, const CheckKernel& kernel, std::string& fault);
  void settle_groups();
  bool all_run(const std::vector<CounterGroup>& groups);
  void run_pass(const std::vector<CounterGroup>& groups, const std::function<void()>& body,
                const std::function<void()>& prepare, std::int64_t runs, Clock& clock, Pass& pass);
  void set_dram_bytes(CounterTotals& totals, std::optional<std::int64_t> of_controllers) const;
  CounterTotals totals_of(const Pass& pass, std::int64_t runs) const;
  std::string origin_of(const Pass& pass, std::int64_t runs, const CounterTotals& totals) const;
  std::string absent_text(const std::map<CounterQuantity, std::string>& faults) const;

  std::shared_ptr<PerfSystem> system_;
  CounterHost host_;
  std::vector<CheckKernel> kernels_;
  std::vector<CounterVerdict> verdicts_;
  std::vector<CounterGroup> groups_;      ///< of the PMU, one pass each
  CounterGroup software_;                 ///< counted in the first pass
  std::vector<CounterGroup> controllers_; ///< of the memory, one each: all are counted in the first pass
};

} // namespace attnprof::profilers
