// Work on thousands of records on all processors that the process may use; with one processor, on one thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
#include <type_traits>
#include <vector>

namespace attnprof::reports {

/// As many as there are processors that this process may use.
int usable_threads();

/// Begins `work` on another of `threads` threads; where there is but one, or none can be had, get() does it. What it
/// borrows must outlive the future.
template <class Work>
std::future<std::invoke_result_t<Work>> begin_beside(int threads, Work work) {
  return std::async(threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred, std::move(work));
}

/// Runs work(first, end) on so many threads, each over its part of [0, count), and returns when all are done. Rethrows
/// what the first part that failed has thrown.
template <class Work>
void in_slices(std::size_t count, int threads, const Work& work) {
  const std::size_t parts = std::max<std::size_t>(1, std::min(count, static_cast<std::size_t>(std::max(threads, 1))));
  const auto begin_of = [&](std::size_t part) { return count * part / parts; };
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.push_back(
        begin_beside(threads, [&work, first = begin_of(part), end = begin_of(part + 1)] { work(first, end); }));
  }
  work(std::size_t{0}, begin_of(1));
  for (std::future<void>& other : others) {
    other.get();
  }
}

} // namespace attnprof::reports
