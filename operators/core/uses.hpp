#pragma once
#include "operators/core/io.hpp"

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
