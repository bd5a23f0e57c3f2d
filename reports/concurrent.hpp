// Work on thousands of records on all processors that the process may use; with one processor, on one thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
#include <string>
#include <type_traits>
#include <utility>
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

/// The places at which [0, count) is cut into parts of about one size, with 0 and count; no more parts than threads.
inline std::vector<std::size_t> cuts_of(std::size_t count, int threads) {
  const std::size_t parts = std::max<std::size_t>(1, std::min(count, static_cast<std::size_t>(std::max(threads, 1))));
  std::vector<std::size_t> out;
  for (std::size_t part = 0; part <= parts; ++part) {
    out.push_back(count * part / parts);
  }
  return out;
}

/// Runs work(first, end) on so many threads, each over its part of [0, count), and returns when all are done. Rethrows
/// what the first part that failed has thrown.
template <class Work>
void in_slices(std::size_t count, int threads, const Work& work) {
  const std::vector<std::size_t> cuts = cuts_of(count, threads);
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part + 1 < cuts.size(); ++part) {
    others.push_back(begin_beside(threads, [&work, first = cuts[part], end = cuts[part + 1]] { work(first, end); }));
  }
  work(cuts[0], cuts[1]);
  for (std::future<void>& other : others) {
    other.get();
  }
}

/// `head`, then what write(i, out) appends for each i of [0, count), in that order, written on so many threads.
template <class Write>
std::string joined_texts(std::string head, std::size_t count, int threads, const Write& write) {
  const std::vector<std::size_t> cuts = cuts_of(count, threads);
  std::vector<std::string> parts(cuts.size() - 1);
  parts[0] = std::move(head);
  in_slices(parts.size(), threads, [&](std::size_t part, std::size_t /*end*/) {
    constexpr std::size_t kFew = 64;
    std::string& out = parts[part];
    for (std::size_t i = cuts[part]; i < cuts[part + 1]; ++i) {
      if (i == cuts[part] + kFew) { // a text of 100 MB that grows is copied as often as it doubles
        out.reserve(out.size() / kFew * (cuts[part + 1] - cuts[part]) / 8 * 9);
      }
      write(i, out);
    }
  });
  std::string out = std::move(parts[0]);
  std::size_t size = 0;
  for (const std::string& part : parts) {
    size += part.size();
  }
  out.reserve(out.size() + size);
  for (std::string& part : parts) {
    out += std::exchange(part, {});
  }
  return out;
}

} // namespace attnprof::reports
