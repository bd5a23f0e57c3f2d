#include "operators/exec/threads.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>

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

/// Position of a processor among the hardware threads of its core; 0 where the system does not say.
int rank_in_core(int processor) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
  int rank = 0;
  int first = 0;
  char mark = ',';
  while (mark == ',' && file >> first) {
    int last = first;
    if (file.get(mark) && mark == '-') {
      file >> last;
      file.get(mark);
    }
    for (int id = first; id <= last; ++id) {
      if (id == processor) {
        return rank;
      }
      ++rank;
    }
  }
  return 0;
}

void release() {
  Binding& bound = binding();
  if (bound.processor >= 0) {
    (void)sched_setaffinity(0, sizeof(bound.before), &bound.before);
    bound.processor = -1;
  }
}

} // namespace

std::vector<int> usable_processors() {
  const cpu_set_t allowed = allowed_set();
  std::vector<std::pair<int, int>> ranked;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (CPU_ISSET(id, &allowed)) {
      ranked.emplace_back(rank_in_core(id), id);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> out;
  for (const auto& [rank, id] : ranked) {
    out.push_back(id);
  }
  return out;
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
