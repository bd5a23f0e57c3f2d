// Counters that are open: one group for each thread and list of events, closed with the object.
#pragma once

#include "profilers/perf/counter_events.hpp"
#include "profilers/perf/counter_maths.hpp"

#include <span>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// Events of one PMU that fit it at once.
using CounterGroup = std::vector<CounterEvent>;

/// Opens every group on each of the threads. Worker threads exist before (OpenMP keeps them), and inheritance reaches
/// only threads that start after the open (perf_event_open(2), `inherit`), so each thread gets files of its own and
/// the counts are added up (BUG-135).
class CounterFiles {
 public:
  CounterFiles(PerfSystem& system, const std::vector<CounterGroup>& groups, std::span<const int> threads);
  ~CounterFiles();
  CounterFiles(const CounterFiles&) = delete;
  CounterFiles& operator=(const CounterFiles&) = delete;

  /// errno of the first refusal, 0 where everything is open. Threads that ended in the meantime are left out.
  [[nodiscard]] int error() const { return error_; }

  /// Counts from here on, until stop().
  void start();
  void stop();
  /// Sums over the threads since the object was made, in the order of the events of all groups one after another.
  std::vector<CountedInterval> read();

 private:
  struct File {
    int file = -1;
    double most_per_ns = 0;
    CounterReading before;
    std::string fault; ///< of the first reading
  };
  bool open_group(const CounterGroup& group, int thread, std::size_t first_event);

  PerfSystem& system_;
  int error_ = 0;
  std::vector<int> leaders_;
  std::vector<std::vector<File>> files_; ///< by event, then by thread
  std::string fault_;                    ///< a group that did not start or stop
};

/// A file for the event, or a negative errno; tried again where a signal came in between.
int open_event(PerfSystem& system, const CounterEvent& event, int thread, int group);

/// Three numbers; absent with the fault where the read failed or was short.
std::optional<CounterReading> read_counter(PerfSystem& system, int file, std::string& fault);

/// Splits events into groups that the processor takes at once, by asking it: the kernel refuses a member with EINVAL
/// when the group has more events than counters. Groups of more than `most_in_group` are not tried. Events that
/// cannot be opened even alone are left out.
std::vector<CounterGroup> groups_that_fit(PerfSystem& system, std::span<const CounterEvent> events,
                                          std::size_t most_in_group);

} // namespace attnprof::profilers
