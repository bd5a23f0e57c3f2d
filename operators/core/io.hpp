#pragma once
#include "operators/core/graph.hpp"
#include "operators/core/inline_list.hpp"

#include <functional>

namespace attnprof::operators {

/// The operands that cross the boundary of a launch. A view that is read twice appears twice; bytes_of counts it once.
struct Io {
  std::vector<View> reads;
  std::vector<View> writes;
};
Io io_of(const Primitive& primitive);

/// As many operands, without their shapes: what counting needs.
struct Operand {
  TensorId tensor = -1;
  Count elements = 0; ///< distinct ones that cross the boundary
};
struct Operands {
  InlineList<Operand, 8> reads;
  InlineList<Operand, 2> writes;
};
Operands operands_of(const Primitive& primitive);

/// Visits every operand of the op, reads and writes, so that a pass can rewrite them.
void for_each_operand(Primitive& primitive, const std::function<void(View&)>& visit);

struct Bytes {
  Count read = 0;
  Count written = 0;
  Count working_set = 0;  ///< distinct bytes touched: an operand read and written in place counts once
  Count weights_read = 0; ///< of `read`: weights and constants, which a run uses again only after all the others
  Count cache_read = 0;   ///< of `read`: keys and values of past tokens
};
/// Bytes that one launch must move: each distinct element of each operand once, broadcast dimensions once.
Bytes bytes_of(const Graph& graph, const Op& op);
/// The same, from the operands of the op, of which some are known to be or not to be on one tensor.
Bytes bytes_of(const Graph& graph, const Op& op, const Operands& operands, bool share_a_tensor);

} // namespace attnprof::operators
