#include "profilers/perf/counter_files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <system_error>

namespace attnprof::profilers {
namespace {

/// A signal a time would be a storm of them.
constexpr int kMostTries = 100;

template <class Call>
auto without_interrupts(const Call& call) {
  auto result = call();
  for (int tries = 1; result == -EINTR && tries < kMostTries; ++tries)
    result = call();
  return result;
}

} // namespace

int open_event(PerfSystem& system, const CounterEvent& event, int thread, int group) {
  return without_interrupts([&] {
    return system.open({event.code, thread, group, event.exclude_kernel, event.processor});
  });
}

std::optional<CounterReading> read_counter(PerfSystem& system, int file, std::string& fault) {
  std::array<std::uint64_t, 3> numbers{};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(numbers));
  const std::int64_t size = without_interrupts([&] { return system.read(file, bytes); });
  if (size < 0) {
    fault = fmt::format("reading it failed: {}", std::generic_category().message(static_cast<int>(-size)));
    return std::nullopt;
  }
  if (static_cast<std::size_t>(size) != bytes.size()) {
    fault = fmt::format("a read gave {} of {} bytes", size, bytes.size());
    return std::nullopt;
  }
  return CounterReading{numbers[0], numbers[1], numbers[2]};
}

CounterFiles::CounterFiles(PerfSystem& system, const std::vector<CounterGroup>& groups, std::span<const int> threads)
    : system_(system) {
  for (const int thread : threads) {
    std::size_t first_event = 0;
    for (const CounterGroup& group : groups) {
      files_.resize(std::max(files_.size(), first_event + group.size()));
      const bool is_of_thread = group.front().processor < 0;
      if ((is_of_thread || thread == threads.front()) && !open_group(group, thread, first_event))
        return;
      first_event += group.size();
    }
  }
}

bool CounterFiles::open_group(const CounterGroup& group, int thread, std::size_t first_event) {
  int leader = -1;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const int file = open_event(system_, group[i], thread, leader);
    if (file == -ESRCH)
      return true; // the thread ended
    if (file < 0) {
      error_ = -file;
      return false;
    }
    if (leader < 0) {
      leader = file;
      leaders_.push_back(file);
    }
    File entry{file, group[i].most_per_ns, {}, {}};
    if (const auto reading = read_counter(system_, file, entry.fault))
      entry.before = *reading;
    files_[first_event + i].push_back(std::move(entry));
  }
  return true;
}

CounterFiles::~CounterFiles() {
  // Members before leaders: closing a leader first would turn its members into leaders.
  for (auto event = files_.rbegin(); event != files_.rend(); ++event)
    for (const File& file : *event)
      system_.close(file.file);
}

void CounterFiles::start() {
  for (const int leader : leaders_)
    if (const int result = without_interrupts([&] { return system_.start(leader); }); result < 0)
      fault_ = fmt::format("it could not be started: {}", std::generic_category().message(-result));
}

void CounterFiles::stop() {
  for (const int leader : leaders_)
    if (const int result = without_interrupts([&] { return system_.stop(leader); }); result < 0)
      fault_ = fmt::format("it could not be stopped: {}", std::generic_category().message(-result));
}

std::vector<CountedInterval> CounterFiles::read() {
  std::vector<CountedInterval> out;
  for (const std::vector<File>& event : files_) {
    std::vector<CountedInterval> threads;
    for (const File& file : event) {
      CountedInterval interval;
      interval.fault = file.fault.empty() ? fault_ : file.fault;
      if (interval.fault.empty())
        if (const auto after = read_counter(system_, file.file, interval.fault))
          interval = count_between(file.before, *after, file.most_per_ns);
      threads.push_back(std::move(interval));
    }
    out.push_back(sum_of(threads));
  }
  return out;
}

std::vector<CounterGroup> groups_that_fit(PerfSystem& system, std::span<const CounterEvent> events,
                                          std::size_t most_in_group) {
  std::vector<CounterGroup> out;
  std::vector<int> files; // of the last group, leader first
  const auto close_all = [&] {
    for (auto file = files.rbegin(); file != files.rend(); ++file)
      system.close(*file);
    files.clear();
  };
  for (const CounterEvent& event : events) {
    if (!files.empty() && out.back().size() < most_in_group) {
      if (const int file = open_event(system, event, 0, files.front()); file >= 0) {
        files.push_back(file);
        out.back().push_back(event);
        continue;
      }
    }
    close_all();
    if (const int file = open_event(system, event, 0, -1); file >= 0) {
      files.push_back(file);
      out.push_back({event});
    }
  }
  close_all();
  return out;
}

} // namespace attnprof::profilers
