#include "operators/exec/threads.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sched.h>
#include <string>
#include <tuple>

namespace attnprof::operators {
namespace {

/// What a thread was allowed before a team bound it. Kept per thread, since that is whose property it is: a second team
/// made by a bound thread must not take one processor for all there are.
struct Binding {
  int processor = -1;
  cpu_set_t before;
};
Binding& binding() {
  thread_local Binding bound;
  return bound;
}

cpu_set_t allowed_set() {
  if (binding().processor >= 0) {
    return binding().before;
  }
  cpu_set_t out;
  CPU_ZERO(&out);
  if (sched_getaffinity(0, sizeof(out), &out) != 0) {
    CPU_SET(0, &out);
  }
  return out;
}

/// Ids of a list such as "0-3,8"; empty where the file is missing.
std::vector<int> read_id_list(const std::string& path) {
  std::ifstream file(path);
  std::vector<int> out;
  int first = 0;
  char mark = ',';
  while (mark == ',' && file >> first) {
    int last = first;
    if (file.get(mark) && mark == '-') {
      file >> last;
      file.get(mark);
    }
    for (int id = first; id <= last; ++id) {
      out.push_back(id);
    }
  }
  return out;
}

/// The lowest hardware thread of the core, which names it; the processor itself where the system does not say.
int core_of(int processor) {
  const std::vector<int> siblings =
      read_id_list(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
  return siblings.empty() ? processor : *std::min_element(siblings.begin(), siblings.end());
}

void release() {
  Binding& bound = binding();
  if (bound.processor >= 0) {
    (void)sched_setaffinity(0, sizeof(bound.before), &bound.before);
    bound.processor = -1;
  }
}

} // namespace

std::vector<int> binding_order(std::vector<Processor> processors) {
  std::sort(processors.begin(), processors.end(), [](const Processor& a, const Processor& b) { return a.id < b.id; });
  std::map<int, int> seen; // hardware threads of a core so far
  std::vector<std::tuple<int, bool, bool, int>> ranked;
  for (const Processor& one : processors) {
    const bool on_first_core = one.core == processors.front().core;
    ranked.emplace_back(seen[one.core]++, one.slow, on_first_core, one.id);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> out;
  for (const auto& [rank, slow, on_first_core, id] : ranked) {
    out.push_back(id);
  }
  return out;
}

std::vector<int> usable_processors() {
  const cpu_set_t allowed = allowed_set();
  const std::vector<int> slow = read_id_list("/sys/devices/cpu_atom/cpus"); // hybrid machines only
  std::vector<Processor> processors;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (CPU_ISSET(id, &allowed)) {
      processors.push_back({id, core_of(id), std::find(slow.begin(), slow.end(), id) != slow.end()});
    }
  }
  return binding_order(std::move(processors));
}

ThreadTeam::ThreadTeam(int threads) : size_(threads), processors_(usable_processors()) {
  if (processors_.size() < static_cast<std::size_t>(threads)) {
    processors_.clear();
  }
}

ThreadTeam::~ThreadTeam() {
  if (size_ == 1) {
    release();
    return;
  }
#pragma omp parallel num_threads(size_)
  release();
}

std::vector<int> ThreadTeam::processors() const {
  return processors_.empty() ? processors_ : std::vector<int>(processors_.begin(), processors_.begin() + size_);
}

void ThreadTeam::bind(int worker) const {
  if (processors_.empty()) {
    return;
  }
  Binding& bound = binding();
  const int processor = processors_[static_cast<std::size_t>(worker)];
  if (bound.processor == processor) {
    return;
  }
  if (bound.processor < 0) {
    // Workers inherit the mask of the thread that made them, which may be bound by now: all of them get the whole set
    // back.
    CPU_ZERO(&bound.before);
    for (const int id : processors_) {
      CPU_SET(id, &bound.before);
    }
  }
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  if (sched_setaffinity(0, sizeof(only), &only) == 0) {
    bound.processor = processor;
  }
}

} // namespace attnprof::operators
