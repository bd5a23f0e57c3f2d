// A kernel and a PMU that answer what the test tells them to.
#pragma once

#include "profilers/perf/memory_controllers.hpp"
#include "profilers/perf/perf_system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace attnprof::tests {

class FakePerf final : public profilers::PerfSystem {
 public:
  using Key = std::pair<std::uint32_t, std::uint64_t>; ///< type and config

  // What the test sets.
  std::map<std::string, profilers::EventCode> names; ///< that libpfm4 knows
  std::map<Key, int> refused;                        ///< errno by event
  int refuses_all = 0;                               ///< errno of every open
  int interrupts = 0;                                ///< that many opens and reads answer EINTR first
  std::size_t most_in_group = 4;                     ///< counters of the processor
  std::int64_t read_bytes = 24;                      ///< of a read; negative: -errno
  double running_share = 1;                          ///< of the enabled time
  std::map<Key, double> factor;                      ///< a counter that counts wrongly
  std::map<Key, std::uint64_t> absurd;               ///< the value of every second reading
  std::vector<int> tasks{10, 11, 12};
  int vector_bits = 0;
  std::vector<profilers::ControllerEvent> controllers;
  std::function<void()> on_start; ///< called when a group starts

  /// What the running threads do: `count` of an event in `time_ns` on one of them.
  void advance(int thread, const std::map<Key, double>& counts, double time_ns) {
    for (auto& [id, file] : files_) {
      const bool sees = file.thread == thread || file.thread == 0 || file.processor >= 0;
      const bool is_on = files_.at(file.leader).enabled && sees;
      if (!is_on)
        continue;
      const auto found = counts.find(file.key);
      const auto wrong = factor.find(file.key);
      const double count = found == counts.end() ? 0 : found->second;
      file.value += count * (wrong == factor.end() ? 1 : wrong->second) * running_share;
      file.enabled_ns += time_ns;
      file.running_ns += time_ns * running_share;
    }
  }
  [[nodiscard]] std::size_t open_files() const { return files_.size(); }
  std::size_t most_open = 0;
  std::size_t opens = 0;

  int open(const profilers::OpenRequest& request) override {
    if (interrupts > 0) {
      --interrupts;
      return -EINTR;
    }
    ++opens;
    const Key key{request.code.type, request.code.config};
    if (refuses_all != 0)
      return -refuses_all;
    if (const auto found = refused.find(key); found != refused.end())
      return -found->second;
    const int id = next_++;
    const int leader = request.group < 0 ? id : request.group;
    const auto members =
        std::count_if(files_.begin(), files_.end(), [&](const auto& entry) { return entry.second.leader == leader; });
    if (key.first != 1 && static_cast<std::size_t>(members) >= most_in_group) // software events need no counter
      return -EINVAL;
    files_[id] = {key, request.thread, request.processor, leader, false, 0, 0, 0, 0};
    most_open = std::max(most_open, files_.size());
    return id;
  }
  int start(int leader) override {
    files_.at(leader).enabled = true;
    if (on_start)
      on_start();
    return 0;
  }
  int stop(int leader) override {
    files_.at(leader).enabled = false;
    return 0;
  }
  std::int64_t read(int id, std::span<std::byte> into) override {
    if (interrupts > 0) {
      --interrupts;
      return -EINTR;
    }
    if (read_bytes < 0)
      return read_bytes;
    File& file = files_.at(id);
    std::array<std::uint64_t, 3> numbers{static_cast<std::uint64_t>(file.value),
                                         static_cast<std::uint64_t>(file.enabled_ns),
                                         static_cast<std::uint64_t>(file.running_ns)};
    if (const auto found = absurd.find(file.key); found != absurd.end() && file.reads++ % 2 == 1)
      numbers[0] = found->second;
    const auto size = std::min<std::size_t>(static_cast<std::size_t>(read_bytes), sizeof(numbers));
    std::memcpy(into.data(), numbers.data(), size);
    return read_bytes;
  }
  void close(int id) override { files_.erase(id); }
  std::vector<int> threads() override { return tasks; }
  int scalable_vector_bits() override { return vector_bits; }
  std::vector<profilers::ControllerEvent> memory_controllers() override { return controllers; }
  std::optional<profilers::EncodedEvent> encode(const std::string& name) override {
    const auto found = names.find(name);
    if (found == names.end())
      return std::nullopt;
    return profilers::EncodedEvent{found->second, "fake::" + name};
  }

 private:
  struct File {
    Key key;
    int thread = 0;
    int processor = -1;
    int leader = 0;
    bool enabled = false;
    double value = 0;
    double enabled_ns = 0;
    double running_ns = 0;
    int reads = 0;
  };
  std::map<int, File> files_;
  int next_ = 100;
};

} // namespace attnprof::tests
