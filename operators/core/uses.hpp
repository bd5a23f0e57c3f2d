#pragma once
#include "operators/core/graph.hpp"
#include "operators/core/inline_list.hpp"
#include "operators/core/operands.hpp"

#include <algorithm>

namespace attnprof::operators {

/// Indices of ops; most tensors have one writer and a reader or two.
using OpIndices = InlineList<std::size_t, 3>;

template <class List, class T>
bool contains(const List& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Who writes and who reads each tensor, as indices into the op list: what the fusion passes ask. Computing it anew for
/// each rewrite takes minutes for a network of thousands of launches: an op that is rewritten is removed before and
/// added after.
class Uses {
 public:
  explicit Uses(const Graph& graph) : uses_(graph.tensors.size()) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      add(i, graph.ops[i].primitive);
    }
  }

  [[nodiscard]] const OpIndices& writers(TensorId id) const { return uses_[static_cast<std::size_t>(id)].writers; }
  /// An op that reads a tensor twice stands twice.
  [[nodiscard]] const OpIndices& readers(TensorId id) const { return uses_[static_cast<std::size_t>(id)].readers; }

  void add(std::size_t op, const Primitive& primitive) {
    visit_tensors(
        primitive, [&](TensorId id) { of(id).readers.push_back(op); },
        [&](TensorId id) { of(id).writers.push_back(op); });
  }
  void remove(std::size_t op, const Primitive& primitive) {
    visit_tensors(
        primitive, [&](TensorId id) { of(id).readers.erase(op); }, [&](TensorId id) { of(id).writers.erase(op); });
  }

 private:
  struct OfTensor {
    OpIndices writers, readers;
  };
  OfTensor& of(TensorId id) { return uses_[static_cast<std::size_t>(id)]; }

  std::vector<OfTensor> uses_;
};

/// An op list that passes rewrite one after another. Ops that a pass erases stay in their places, where nothing uses
/// them any more, so that indices mean the same to all passes.
class Rewriting {
 public:
  explicit Rewriting(Graph& graph) : graph_(graph), uses_(graph), erased_(graph.ops.size(), false) {}

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Uses& uses() const { return uses_; }
  [[nodiscard]] std::size_t size() const { return graph_.ops.size(); }
  [[nodiscard]] const Op& op(std::size_t i) const { return graph_.ops[i]; }
  [[nodiscard]] bool erased(std::size_t i) const { return erased_[i]; }

  /// Calls change(Op&), which may give the op other operands.
  template <class Change>
  void rewrite(std::size_t i, Change&& change) {
    uses_.remove(i, graph_.ops[i].primitive);
    change(graph_.ops[i]);
    uses_.add(i, graph_.ops[i].primitive);
  }
  /// Calls change(Op& from, Op& into), which makes one op of both in the place of the second; the first is erased.
  template <class Change>
  void merge(std::size_t from, std::size_t into, Change&& change) {
    erase(from);
    rewrite(into, [&](Op& op) { change(graph_.ops[from], op); });
  }
  /// The op itself stays readable until finish().
  void erase(std::size_t i) {
    uses_.remove(i, graph_.ops[i].primitive);
    erased_[i] = true;
  }
  /// Takes the erased ops out, keeping the order of the others. To be called once, at the end.
  void finish() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!erased_[i]) {
        if (kept != i) {
          graph_.ops[kept] = std::move(graph_.ops[i]);
        }
        ++kept;
      }
    }
    graph_.ops.resize(kept);
  }

 private:
  Graph& graph_;
  Uses uses_;
  std::vector<bool> erased_;
};

} // namespace attnprof::operators
