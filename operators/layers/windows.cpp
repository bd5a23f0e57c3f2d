#include "operators/layers/windows.hpp"

#include "operators/layers/depthwise.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>

namespace attnprof::operators {

void resolve_windows(Config& config) {
  refuse_cls_token(config, "a mixer in windows");
  resolve_token_map(config, "a mixer in windows");
  const Grid grid = config.grid();
  const std::int64_t side = std::min(config.integer_or("window", 7), std::max(grid.height, grid.width));
  const bool covers = side >= grid.height && side >= grid.width;
  const std::int64_t shift = config.integer_or("shift", 0);
  if (shift >= side) {
    throw Error(ErrorKind::kInvalid, fmt::format("--shift {} must be smaller than the window of {}", shift, side));
  }
  config.set("window", side);
  config.set("shift", covers ? 0 : shift); // one window covers the grid: there is no neighbour to shift to
}

Windows windows_of(const Config& config) {
  const Grid grid = config.grid();
  return {config.integer("batch"), grid.height, grid.width, config.integer("window"), config.integer_or("shift", 0)};
}

namespace {

/// Whether a position of the padded map that is not rolled is no padding.
bool is_real(std::int64_t row, std::int64_t column, const Windows& w) {
  return row < w.height && column < w.width;
}

/// For each position of the padded, rolled map the row of x that it shows, -1 for padding.
GraphBuilder::Values rolled_index(const Windows& w) {
  GraphBuilder::Values index = constant_values(Count(w.padded_height()) * w.padded_width(), kMaxIndexedRows);
  for (std::int64_t i = 0; index && i < w.padded_height(); ++i) {
    for (std::int64_t j = 0; j < w.padded_width(); ++j) {
      const std::int64_t row = (i + w.shift) % w.padded_height();
      const std::int64_t column = (j + w.shift) % w.padded_width();
      index->push_back(is_real(row, column, w) ? static_cast<float>(row * w.width + column) : -1.0F);
    }
  }
  return index;
}

/// For each token of x the position of the padded, rolled map that holds it.
GraphBuilder::Values unrolled_index(const Windows& w) {
  GraphBuilder::Values index = constant_values(Count(w.height) * w.width, kMaxIndexedRows);
  for (std::int64_t i = 0; index && i < w.height; ++i) {
    for (std::int64_t j = 0; j < w.width; ++j) {
      const std::int64_t row = (i + w.padded_height() - w.shift) % w.padded_height();
      const std::int64_t column = (j + w.padded_width() - w.shift) % w.padded_width();
      index->push_back(static_cast<float>(row * w.padded_width() + column));
    }
  }
  return index;
}

std::string named(const char* what, const Windows& w) {
  return fmt::format("{}_{}x{}_{}_{}", what, w.height, w.width, w.side, w.shift);
}

/// Strip of the shifted map that a padded position belongs to: tokens of different strips do not see each other.
std::int64_t strip(std::int64_t position, std::int64_t padded, const Windows& w) {
  if (w.shift == 0 || position < padded - w.side) {
    return 0;
  }
  return position < padded - w.shift ? 1 : 2;
}

std::int64_t region(std::int64_t i, std::int64_t j, const Windows& w) {
  return strip(i, w.padded_height(), w) * 3 + strip(j, w.padded_width(), w);
}

} // namespace

View partition(GraphBuilder& builder, const Windows& w, const View& x) {
  View map = x.split(0, w.batch, w.height * w.width);
  if (w.moves()) {
    const std::int64_t positions = w.padded_height() * w.padded_width();
    map = builder.gather("roll_pad", map,
                         builder.constant(named("rolled", w), {positions}, [&] { return rolled_index(w); }));
  }
  const View cut =
      map.split(1, w.padded_height(), w.padded_width()).split(1, w.rows(), w.side).split(3, w.columns(), w.side);
  return builder.layout_copy("partition", cut.transpose(2, 3)).merge(0).merge(0).merge(1);
}

View unpartition(GraphBuilder& builder, const Windows& w, const View& x) {
  const View cut = x.split(0, w.batch, w.count()).split(1, w.rows(), w.columns()).split(3, w.side, w.side);
  const View map = builder.layout_copy("unpartition", cut.transpose(2, 3)).merge(1).merge(2).merge(1);
  if (!w.moves()) {
    return map.as_matrix();
  }
  return builder
      .gather("unroll", map,
              builder.constant(named("unrolled", w), {w.height * w.width}, [&] { return unrolled_index(w); }))
      .as_matrix();
}

std::int64_t real_window_pairs(const Windows& w) {
  // Real tokens of each strip of a row of windows are the product of those along both axes.
  const auto tokens_along = [&](std::int64_t windows, std::int64_t padded, std::int64_t real) {
    Count squares = 0;
    for (std::int64_t window = 0; window < windows; ++window) {
      std::array<std::int64_t, 3> tokens{};
      for (std::int64_t i = window * w.side; i < (window + 1) * w.side; ++i) {
        tokens[static_cast<std::size_t>(strip(i, padded, w))] += (i + w.shift) % padded < real ? 1 : 0;
      }
      for (const std::int64_t count : tokens) {
        squares += Count(count) * count;
      }
    }
    return squares;
  };
  // (sum over window rows and strips of r^2) * (the same of columns) = sum over windows and regions of (r c)^2.
  const Count pairs =
      tokens_along(w.rows(), w.padded_height(), w.height) * tokens_along(w.columns(), w.padded_width(), w.width);
  return (pairs * w.batch).value();
}

namespace {

/// Taps of a kernel between the positions of a line of `size`.
std::int64_t line_taps(std::int64_t size, std::int64_t kernel) {
  std::int64_t taps = 0;
  for (std::int64_t t = 0; t < kernel; ++t) {
    taps += std::max<std::int64_t>(0, size - std::abs(t - kernel / 2));
  }
  return taps;
}

/// The same along one side of the map, cut into windows of which the last may be short.
Count side_taps(std::int64_t size, std::int64_t side, std::int64_t kernel) {
  return Count(size / side) * line_taps(side, kernel) + line_taps(size % side, kernel);
}

} // namespace

std::int64_t real_window_taps(const Windows& w, std::int64_t kernel) {
  return (side_taps(w.height, w.side, kernel) * side_taps(w.width, w.side, kernel) * w.batch).value();
}

GraphBuilder::RealRows real_window_rows(GraphBuilder& builder, const Windows& w) {
  return {builder, (Count(w.batch) * w.padded_height() * w.padded_width()).value(),
          (Count(w.batch) * w.height * w.width).value()};
}

View shift_mask(GraphBuilder& builder, const Windows& w) {
  const Count entries = Count(w.count()) * w.tokens() * w.tokens();
  const auto make = [&] {
    GraphBuilder::Values mask = constant_values(entries);
    for (std::int64_t window = 0; mask && window < w.count(); ++window) {
      const auto region_of = [&](std::int64_t t) {
        return region(window / w.columns() * w.side + t / w.side, window % w.columns() * w.side + t % w.side, w);
      };
      for (std::int64_t q = 0; q < w.tokens(); ++q) {
        for (std::int64_t k = 0; k < w.tokens(); ++k) {
          mask->push_back(region_of(q) == region_of(k) ? 0.0F : -std::numeric_limits<float>::infinity());
        }
      }
    }
    return mask;
  };
  return builder.constant(named("shift_mask", w), {w.count(), w.tokens(), w.tokens()}, make);
}

View relative_bias(GraphBuilder& builder, const Windows& w, std::int64_t heads) {
  const std::int64_t span = 2 * w.side - 1;
  const Count pairs = Count(w.tokens()) * w.tokens();
  const auto make = [&] {
    GraphBuilder::Values index = constant_values(pairs);
    for (std::int64_t q = 0; index && q < w.tokens(); ++q) {
      for (std::int64_t k = 0; k < w.tokens(); ++k) {
        const std::int64_t dy = q / w.side - k / w.side;
        const std::int64_t dx = q % w.side - k % w.side;
        index->push_back(static_cast<float>((dy + w.side - 1) * span + dx + w.side - 1));
      }
    }
    return index;
  };
  const View table = builder.weight("relative_bias", {span * span, heads});
  const View index = builder.constant(fmt::format("relative_index_{}", w.side), {pairs.value()}, make);
  const View rows = builder.gather("bias_gather", table, index);
  return rows.split(0, w.tokens(), w.tokens()).transpose(1, 2).transpose(0, 1); // [heads, queries, keys]
}

} // namespace attnprof::operators
