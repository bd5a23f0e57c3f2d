#pragma once
#include "operators/core/graph.hpp"
#include "operators/core/inline_list.hpp"
#include "operators/core/operands.hpp"

#include <functional>

namespace attnprof::operators {

/// The operands that cross the boundary of a launch. A view that is read twice appears twice; bytes_of counts it once.
struct Io {
  std::vector<View> reads;
  std::vector<View> writes;
};
Io io_of(const Primitive& primitive);

/// Visits every operand of the op, reads and writes, so that a pass can rewrite them.
void for_each_operand(Primitive& primitive, const std::function<void(View&)>& visit);

struct Bytes {
  Count read = 0;
  Count written = 0;
  Count working_set = 0;  ///< distinct bytes touched: an operand read and written in place counts once
  Count weights_read = 0; ///< of `read`: weights and constants, which a run uses again only after all the others
  Count cache_read = 0;   ///< of `read`: keys and values of past tokens
};
/// Adds what is read of a tensor.
inline void add_read(const Tensor& tensor, Count elements, Bytes& out) {
  const Count bytes = elements * size_bytes(tensor.dtype);
  out.read += bytes;
  if (tensor.role == TensorRole::kWeight || tensor.role == TensorRole::kConstant) {
    out.weights_read += bytes;
  } else if (tensor.role == TensorRole::kCache) {
    out.cache_read += bytes;
  }
}
/// bytes_of an op, whatever its operands share: those that overlap count once.
Bytes bytes_of_overlapping(const Graph& graph, const Op& op);
/// Bytes that one launch must move: each distinct element of each operand once, broadcast dimensions once.
Bytes bytes_of(const Graph& graph, const Op& op);
/// The same of an op of which some operands are known to be on one tensor, or none. Calls read(TensorId, Count) for
/// each operand that is read, with the distinct elements of it that are.
template <class Read>
Bytes bytes_of(const Graph& graph, const Op& op, bool share_a_tensor, Read&& read) {
  Bytes out;
  visit_io(
      op.primitive,
      [&](const View& view) {
        const Count elements = view.distinct_elements();
        read(view.tensor, elements);
        if (!share_a_tensor) {
          add_read(graph.tensor(view.tensor), elements, out);
        }
      },
      [&](const View& view) {
        if (!share_a_tensor) {
          out.written += view.distinct_elements() * size_bytes(graph.tensor(view.tensor).dtype);
        }
      });
  if (share_a_tensor) {
    return bytes_of_overlapping(graph, op);
  }
  out.working_set = out.read + out.written;
  return out;
}

} // namespace attnprof::operators
