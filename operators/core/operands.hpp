// The one list of operands per primitive, in order, for passes over the op list that must not allocate for each op.
#pragma once
#include "operators/core/op.hpp"

#include <concepts>
#include <type_traits>

namespace attnprof::operators {

/// `T`, const or not: what only looks at operands must not copy the op, what rewrites them needs it writable.
template <class Op, class T>
concept Is = std::same_as<std::remove_const_t<Op>, T>;

template <Is<Steps> List, class Read>
void visit_steps(List& steps, Read&& read) {
  for (auto& step : steps) {
    if (step.operand) {
      read(*step.operand);
    }
  }
}

template <Is<MatMul> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.a);
  read(op.b);
  visit_steps(op.epilogue, read);
  write(op.c);
}
template <Is<Softmax> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Attention> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.q);
  read(op.k);
  read(op.v);
  if (op.bias) {
    read(*op.bias);
  }
  write(op.y);
}
template <Is<Pointwise> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  visit_steps(op.steps, read);
  write(op.y);
}
template <Is<LayerNorm> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.gamma);
  if (op.beta) {
    read(*op.beta);
  }
  write(op.y);
}
template <Is<DepthwiseConv2d> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  visit_steps(op.epilogue, read);
  write(op.y);
}
template <Is<Conv2d> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  visit_steps(op.epilogue, read);
  write(op.y);
}
template <Is<Pool> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Reduce> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<ChannelConv1d> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  write(op.y);
}
template <Is<CumSum> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Gather> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.index);
  write(op.y);
}
template <Is<Copy> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Rope> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.table);
  write(op.y);
}

/// Keys of k and v that at least one query tile visits; they are one range.
KeyRange touched_keys(const Attention& op);
/// Rows of x that an index names.
std::int64_t named_rows(const Gather& op);

/// As visit_operands, with only the part of an operand that crosses the boundary of the launch.
template <class Op, class Read, class Write>
void visit_moved(const Op& op, Read&& read, Write&& write) {
  visit_operands(op, read, write);
}
template <class Read, class Write>
void visit_moved(const Attention& op, Read&& read, Write&& write) {
  const KeyRange keys = touched_keys(op);
  const std::int64_t length = keys.end - keys.begin;
  read(op.q);
  read(op.k.slice(2, keys.begin, length));
  read(op.v.slice(2, keys.begin, length));
  if (op.bias) {
    read(op.bias->slice(4, keys.begin, length));
  }
  write(op.y);
}
template <class Read, class Write>
void visit_moved(const CumSum& op, Read&& read, Write&& write) { // the last row is in no exclusive prefix
  const std::size_t rows = op.x.rank() - 2;
  read(op.x.slice(rows, 0, op.x.dims[rows] - 1));
  write(op.y);
}
template <class Read, class Write>
void visit_moved(const Gather& op, Read&& read, Write&& write) { // which rows does not change the bytes
  read(op.x.slice(op.x.rank() - 2, 0, named_rows(op)));
  read(op.index);
  write(op.y);
}

/// Calls read(const View&) and write(const View&) for what io_of lists, in its order.
template <class Read, class Write>
void visit_io(const Primitive& primitive, Read&& read, Write&& write) {
  std::visit([&](const auto& op) { visit_moved(op, read, write); }, primitive);
}

/// Calls read(TensorId) for each operand that is read, then write(TensorId) for each that is written.
template <class Read, class Write>
void visit_tensors(const Primitive& primitive, Read&& read, Write&& write) {
  std::visit(
      [&](const auto& op) {
        visit_operands(
            op, [&](const View& view) { read(view.tensor); }, [&](const View& view) { write(view.tensor); });
      },
      primitive);
}

} // namespace attnprof::operators
