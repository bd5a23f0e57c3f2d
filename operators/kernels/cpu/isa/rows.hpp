#pragma once
#include "operators/kernels/cpu/args.hpp"
#include "operators/kernels/cpu/isa/math.hpp"

// Walking nests, reading rows of any stride and type as plain f32, and element-wise steps on such rows.
namespace attnprof::operators::ATTNPROF_ISA {

using cpu::Nest;
using cpu::Operand;
using cpu::RowRange;
using cpu::StepArgs;
using cpu::StepList;

/// Elements handled at a time by element-wise code: a few such blocks stay in the first-level cache.
inline constexpr Index kBlock = 512;

struct Range {
  Index begin;
  Index end;
};
/// The part of [0, total) that one share does; parts differ by one at most.
ATTNPROF_INLINE Range part_of(Index total, int share, int shares) {
  return {total * share / shares, total * (share + 1) / shares};
}

/// Columns of one work item of rows that long: each share gets a piece of a row, and no more pieces than that. Every
/// piece costs 60 ns, since streams of reads begin anew: rows of 37,632 in pieces of 4096 took 6 % longer.
ATTNPROF_INLINE Index segment_of(Index columns, int shares) {
  constexpr Index kLeast = 4096;
  return most(kLeast, rounded_up((columns + shares - 1) / shares, 16));
}

/// An index into a nest.
struct Position {
  Index index[cpu::kMaxRank] = {};
};
ATTNPROF_INLINE Position position_of(const Nest& nest, Index flat) {
  Position out;
  for (int d = nest.rank; d-- > 0;) {
    out.index[d] = flat % nest.dims[d];
    flat /= nest.dims[d];
  }
  return out;
}
ATTNPROF_INLINE void advance(const Nest& nest, Position& at) {
  for (int d = nest.rank; d-- > 0;) {
    if (++at.index[d] < nest.dims[d]) {
      return;
    }
    at.index[d] = 0;
  }
}
ATTNPROF_INLINE Index outer_offset(const Operand& operand, const Nest& nest, const Position& at) {
  Index out = 0;
  for (int d = 0; d < nest.rank; ++d) {
    out += at.index[d] * operand.outer[d];
  }
  return out;
}
ATTNPROF_INLINE const std::byte* element(const Operand& operand, Index offset) {
  return operand.address + offset * (operand.bf16 ? 2 : 4);
}
ATTNPROF_INLINE std::byte* element_to_write(const Operand& operand, Index offset) {
  return operand.address + offset * (operand.bf16 ? 2 : 4);
}
ATTNPROF_INLINE bool is_plain(const Operand& operand) {
  return !operand.bf16 && operand.column == 1;
}

template <class T>
ATTNPROF_INLINE void gather(const T* from, Index stride, Index n, float* to) {
  Index i = 0;
  if (stride == 1) {
    for (; i + kLanes <= n; i += kLanes) {
      store(to + i, load(from + i));
    }
  }
  for (; i < n; ++i) {
    to[i] = load_one(from + i * stride);
  }
}
template <class T>
ATTNPROF_INLINE void scatter(const float* from, Index n, T* to, Index stride) {
  Index i = 0;
  if (stride == 1) {
    for (; i + kLanes <= n; i += kLanes) {
      store(to + i, load(from + i));
    }
  }
  for (; i < n; ++i) {
    store_one(to + i * stride, from[i]);
  }
}

/// n elements as f32, copied.
ATTNPROF_INLINE void read_into(const Operand& operand, const std::byte* from, Index n, float* to) {
  if (operand.bf16) {
    gather(reinterpret_cast<const Bf16*>(from), operand.column, n, to);
  } else {
    gather(reinterpret_cast<const float*>(from), operand.column, n, to);
  }
}
/// n elements as plain f32: in place where they are, else copied to the scratch.
ATTNPROF_INLINE const float* read_row(const Operand& operand, const std::byte* from, Index n, float* scratch) {
  if (is_plain(operand)) {
    return reinterpret_cast<const float*>(from);
  }
  read_into(operand, from, n, scratch);
  return scratch;
}
/// Where to compute a row that write_row then brings to its place.
ATTNPROF_INLINE float* row_to_write(const Operand& operand, std::byte* to, float* scratch) {
  return is_plain(operand) ? reinterpret_cast<float*>(to) : scratch;
}
ATTNPROF_INLINE void write_row(const Operand& operand, const float* row, Index n, std::byte* to) {
  if (operand.bf16) {
    scatter(row, n, reinterpret_cast<Bf16*>(to), operand.column);
  } else if (operand.column != 1) {
    scatter(row, n, reinterpret_cast<float*>(to), operand.column);
  }
}

/// y[i] = f(x[i]); f takes packs of any width.
template <class F>
ATTNPROF_INLINE void map_row(const float* x, float* y, Index n, F&& f) {
  Index i = 0;
  for (; i + kPack * kLanes <= n; i += kPack * kLanes) {
    store_pack(y + i, f(load_pack<kPack>(x + i)));
  }
  for (; i + kLanes <= n; i += kLanes) {
    store_pack(y + i, f(load_pack<1>(x + i)));
  }
  if (i < n) {
    store_first(y + i, f(Pack<1>{{load_first(x + i, n - i)}}).v[0], n - i);
  }
}
inline constexpr Index kLineFloats = 16;

/// Asks for the lines of kCount floats.
template <int kCount>
ATTNPROF_INLINE void fetch(const float* p) {
#pragma GCC unroll 8
  for (Index i = 0; i < kCount; i += kLineFloats) {
    __builtin_prefetch(p + i);
  }
}

/// How far in front of its loads a loop fetches whose arithmetic takes as long as its memory: the hardware's
/// prefetchers stop at the end of every page of 4 KiB, and nothing else would be on its way then. Loops that only move
/// memory run ahead of themselves and lose by it.
inline constexpr Index kFetchAhead = 512;

/// A row past the caches, for results that no cache would hold until they are read: whole(i) stores the packs of whole
/// lines, ends(i, lanes) a vector or less of what lies before the first line of y and after the last of them. `x` is
/// what they read, fetched where kFetch.
template <bool kFetch, class Whole, class Ends>
ATTNPROF_INLINE void walk_lines(const float* x, const float* y, Index n, Whole&& whole, Ends&& ends) {
  constexpr Index kStep = kPack * kLanes;
  const Index over = static_cast<Index>(reinterpret_cast<std::uintptr_t>(y) / sizeof(float)) % kLineFloats;
  const Index head = over == 0 ? 0 : least(kLineFloats - over, n);
  for (Index i = 0; i < head; i += kLanes) {
    ends(i, least(head - i, kLanes));
  }
  Index i = head;
  for (; i + kStep <= n; i += kStep) {
    if constexpr (kFetch) {
      fetch<kStep>(x + i + kFetchAhead);
    }
    whole(i);
  }
  for (; i < n; i += kLanes) {
    ends(i, least(n - i, kLanes));
  }
}
template <int N>
ATTNPROF_INLINE void stream_pack(float* p, const Pack<N>& x) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    store_stream(p + i * kLanes, x.v[i]);
  }
}
/// y[i] = f(x[i]) past the caches.
template <bool kFetch = false, class F>
ATTNPROF_INLINE void map_row_stream(const float* x, float* y, Index n, F&& f) {
  walk_lines<kFetch>(
      x, y, n, [&](Index i) { stream_pack(y + i, f(load_pack<kPack>(x + i))); },
      [&](Index i, Index lanes) { store_upto(y + i, f(Pack<1>{{load_upto(x + i, lanes)}}).v[0], lanes); });
}
/// y[i] = f(x[i], z[i]) past the caches.
template <class F>
ATTNPROF_INLINE void map_rows_stream(const float* x, const float* z, float* y, Index n, F&& f) {
  walk_lines<false>(
      x, y, n, [&](Index i) { stream_pack(y + i, f(load_pack<kPack>(x + i), load_pack<kPack>(z + i))); },
      [&](Index i, Index lanes) {
        const Pack<1> last = f(Pack<1>{{load_upto(x + i, lanes)}}, Pack<1>{{load_upto(z + i, lanes)}});
        store_upto(y + i, last.v[0], lanes);
      });
}
/// y[i] = f(x[i], z[i]); f takes packs of any width.
template <class F>
ATTNPROF_INLINE void map_rows(const float* x, const float* z, float* y, Index n, F&& f) {
  Index i = 0;
  for (; i + kPack * kLanes <= n; i += kPack * kLanes) {
    store_pack(y + i, f(load_pack<kPack>(x + i), load_pack<kPack>(z + i)));
  }
  for (; i + kLanes <= n; i += kLanes) {
    store_pack(y + i, f(load_pack<1>(x + i), load_pack<1>(z + i)));
  }
  if (i < n) {
    store_first(y + i, f(Pack<1>{{load_first(x + i, n - i)}}, Pack<1>{{load_first(z + i, n - i)}}).v[0], n - i);
  }
}

/// Elements that one step after another works on at a time: everything where there is one step that needs no scratch.
ATTNPROF_INLINE Index block_of(const StepList& list, Index n) {
  const bool in_place = list.count == 0 || list.steps->operand.address == nullptr || is_plain(list.steps->operand);
  return list.count <= 1 && in_place ? n : kBlock;
}
/// All steps on columns [column, column + n) of a row, block by block: x to y (which may be x).
void apply_steps(const StepList& list, const Nest& nest, const Position& at, Index row, Index column, Index n,
                 const float* x, float* y);

} // namespace attnprof::operators::ATTNPROF_ISA
