#include "operators/exec/twin.hpp"

#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>

namespace attnprof::operators {
namespace {

struct Size {
  std::int64_t macs = 0;
  std::int64_t bytes = 0;
};

Size size_of(const Config& resolved) {
  const Graph launches = plan_launches(build(resolved), resolved.text("plan"));
  Count bytes = 0;
  for (const Tensor& tensor : launches.tensors) {
    bytes += tensor.elements() * 8;
  }
  return {cost_of(launches).totals.work.macs.value(), bytes.value()};
}

bool fits(const Size& size, const CheckLimits& limits) {
  return size.macs <= limits.macs && size.bytes <= limits.bytes;
}

/// Tokens that still fill a tile of the kernels, so that the twin runs the same loops.
constexpr std::int64_t kFewTokens = 48;
constexpr std::int64_t kFewestTokens = 4;

/// Divides those of the parameters that are given and larger than `least`; false where none is.
bool halve(Config& config, std::initializer_list<const char*> names, std::int64_t least = 1) {
  bool any = false;
  for (const char* name : names) {
    const std::int64_t value = config.integer_or(name, 0);
    if (value > least) {
      config.set(name, std::max(least, value / 2));
      any = true;
    }
  }
  return any;
}

bool one_image(Config& config) {
  if (config.integer_or("batch", 1) == 1) {
    return false;
  }
  config.set("batch", std::int64_t{1});
  return true;
}

bool fewer_blocks(Config& config) {
  constexpr std::int64_t kFewBlocks = 4; // where blocks differ, the first four hold each kind
  if (takes_param(config, "max_depth") && config.integer_or("max_depth", kFewBlocks + 1) > kFewBlocks) {
    config.set("max_depth", kFewBlocks);
    return true;
  }
  if (config.has("skip") && config.integer("depth") > 2) { // a list of skipped blocks fits no other depth
    config.set("depth", std::int64_t{2});
    config.set("skip", std::string("1"));
    return true;
  }
  return halve(config, {"depth", "max_depth"});
}

bool fewer_tokens(Config& config, std::int64_t least) {
  if (config.has("image_size")) {
    const std::int64_t smaller = config.integer("image_size") > 64 ? 64 : 32; // every family's strides divide both
    const bool shrinks = smaller < config.integer("image_size");
    config.set("image_size", smaller);
    return shrinks;
  }
  if (!config.has("grid")) {
    return halve(config, {"seq_len", "past_len", "kv_len"}, least);
  }
  const Grid grid = config.grid();
  const Grid half{(grid.height + 1) / 2, (grid.width + 1) / 2};
  if (half.height * half.width < least || half.height * half.width == grid.height * grid.width) {
    return false;
  }
  config.set("grid", fmt::format("{}x{}", half.height, half.width));
  config.erase("seq_len");
  return true;
}

/// Half of the heads, which keep their width.
bool fewer_heads(Config& config) {
  const std::int64_t heads = config.integer_or("heads", 1);
  if (heads % 2 != 0 || config.integer_or("dim", 1) % 2 != 0) {
    return false;
  }
  halve(config, {"heads", "dim", "ffn_dim"});
  if (config.integer_or("kv_heads", 1) % 2 == 0) {
    halve(config, {"kv_heads"});
  }
  return true;
}

bool narrower(Config& config) {
  return halve(config, {"dim", "head_dim", "qk_dim", "v_dim", "ffn_dim"});
}

class Reduction {
 public:
  Reduction(const Config& resolved, const CheckLimits& limits)
      : config_(resolved), limits_(limits), size_(size_of(resolved)) {}

  std::optional<Config> run() {
    const auto some_tokens = [](Config& config) { return fewer_tokens(config, kFewTokens); };
    const auto most_tokens = [](Config& config) { return fewer_tokens(config, kFewestTokens); };
    repeat(one_image);
    repeat(fewer_blocks);
    repeat(some_tokens);
    repeat(fewer_heads);
    repeat(narrower);
    repeat(most_tokens);
    return fits(size_, limits_) ? std::optional(config_) : std::nullopt;
  }

 private:
  template <class Step>
  void repeat(const Step& step) {
    while (!fits(size_, limits_) && accepted(step)) {
    }
  }

  /// A step that the workload's rules forbid, or that saves nothing, is not taken.
  template <class Step>
  bool accepted(const Step& step) {
    Config candidate = config_;
    if (!step(candidate)) {
      return false;
    }
    try {
      candidate = resolve(candidate);
      const Size size = size_of(candidate);
      if (size.macs > size_.macs || size.bytes > size_.bytes ||
          (size.macs == size_.macs && size.bytes == size_.bytes)) {
        return false;
      }
      config_ = std::move(candidate);
      size_ = size;
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  Config config_;
  CheckLimits limits_;
  Size size_;
};

} // namespace

bool is_within(const Config& resolved, const CheckLimits& limits) {
  return fits(size_of(resolved), limits);
}

std::optional<Config> reduced_twin(const Config& resolved, const CheckLimits& limits) {
  return Reduction(resolved, limits).run();
}

} // namespace attnprof::operators
