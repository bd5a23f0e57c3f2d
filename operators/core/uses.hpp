#pragma once
#include "operators/core/io.hpp"

#include <set>

namespace attnprof::operators {

/// Who writes and who reads each tensor, as indices into the op list: what the fusion passes ask.
struct Uses {
  std::vector<std::vector<std::size_t>> writers;
  std::vector<std::vector<std::size_t>> readers; ///< an op that reads a tensor twice stands twice
};

inline Uses uses_of(const Graph& graph) {
  Uses uses{std::vector<std::vector<std::size_t>>(graph.tensors.size()),
            std::vector<std::vector<std::size_t>>(graph.tensors.size())};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Io io = io_of(graph.ops[i].primitive);
    for (const View& view : io.reads) {
      uses.readers[static_cast<std::size_t>(view.tensor)].push_back(i);
    }
    for (const View& view : io.writes) {
      uses.writers[static_cast<std::size_t>(view.tensor)].push_back(i);
    }
  }
  return uses;
}

/// Brings the uses of some tensors up to date after the ops that use them were rewritten; ops whose flag is set in
/// `erased` use nothing. Computing all uses anew for each rewrite takes minutes for a network of thousands of launches.
inline void refresh_uses(Uses& uses, const Graph& graph, const std::set<TensorId>& tensors,
                         const std::vector<bool>& erased) {
  std::set<std::size_t> ops;
  for (const TensorId id : tensors) {
    auto& writers = uses.writers[static_cast<std::size_t>(id)];
    auto& readers = uses.readers[static_cast<std::size_t>(id)];
    ops.insert(writers.begin(), writers.end());
    ops.insert(readers.begin(), readers.end());
    writers.clear();
    readers.clear();
  }
  for (const std::size_t i : ops) {
    if (erased[i]) {
      continue;
    }
    const Io io = io_of(graph.ops[i].primitive);
    for (const View& view : io.reads) {
      if (tensors.contains(view.tensor)) {
        uses.readers[static_cast<std::size_t>(view.tensor)].push_back(i);
      }
    }
    for (const View& view : io.writes) {
      if (tensors.contains(view.tensor)) {
        uses.writers[static_cast<std::size_t>(view.tensor)].push_back(i);
      }
    }
  }
}

/// Removes the ops whose flag is set, keeping the order of the others.
inline void erase_ops(Graph& graph, const std::vector<bool>& erase) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (!erase[i]) {
      if (kept != i) {
        graph.ops[kept] = std::move(graph.ops[i]);
      }
      ++kept;
    }
  }
  graph.ops.resize(kept);
}

} // namespace attnprof::operators
