#pragma once
#include "operators/core/graph.hpp"
#include "operators/core/inline_list.hpp"
#include "operators/core/operands.hpp"

#include <algorithm>

namespace attnprof::operators {

/// Indices of ops; most tensors have one writer and a reader or two.
using OpIndices = InlineList<std::size_t, 3>;
using TensorIds = InlineList<TensorId, 12>;

template <class List, class T>
bool contains(const List& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Who writes and who reads each tensor, as indices into the op list: what the fusion passes ask.
struct Uses {
  std::vector<OpIndices> writers;
  std::vector<OpIndices> readers; ///< an op that reads a tensor twice stands twice
};

inline Uses uses_of(const Graph& graph) {
  Uses uses{std::vector<OpIndices>(graph.tensors.size()), std::vector<OpIndices>(graph.tensors.size())};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    visit_tensors(
        graph.ops[i].primitive, [&](TensorId id) { uses.readers[static_cast<std::size_t>(id)].push_back(i); },
        [&](TensorId id) { uses.writers[static_cast<std::size_t>(id)].push_back(i); });
  }
  return uses;
}

/// The tensors that an op touches, each once.
inline TensorIds tensors_of(const Primitive& primitive) {
  TensorIds out;
  const auto add = [&](TensorId id) {
    if (!contains(out, id)) {
      out.push_back(id);
    }
  };
  visit_tensors(primitive, add, add);
  return out;
}

/// Brings the uses of some tensors up to date after the ops that use them were rewritten; ops whose flag is set in
/// `erased` use nothing. Computing all uses anew for each rewrite takes minutes for a network of thousands of launches.
inline void refresh_uses(Uses& uses, const Graph& graph, const TensorIds& tensors, const std::vector<bool>& erased) {
  std::vector<std::size_t> ops;
  for (const TensorId id : tensors) {
    for (OpIndices* list : {&uses.writers[static_cast<std::size_t>(id)], &uses.readers[static_cast<std::size_t>(id)]}) {
      ops.insert(ops.end(), list->begin(), list->end());
      list->clear();
    }
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  for (const std::size_t i : ops) {
    if (erased[i]) {
      continue;
    }
    const auto add_to = [&](std::vector<OpIndices>& lists) {
      return [&, i](TensorId id) {
        if (contains(tensors, id)) {
          lists[static_cast<std::size_t>(id)].push_back(i);
        }
      };
    };
    visit_tensors(graph.ops[i].primitive, add_to(uses.readers), add_to(uses.writers));
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
