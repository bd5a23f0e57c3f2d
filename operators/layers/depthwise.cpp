#include "operators/layers/depthwise.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {

void refuse_cls_token(const Config& config, const std::string& who) {
  if (config.flag("cls_token")) {
    throw Error(
        ErrorKind::kInvalid,
        fmt::format("{} works on the tokens of a grid, and --cls-token puts one in front of them: leave it out", who));
  }
}

void resolve_token_map(Config& config, const std::string& who) {
  if (!config.has("grid")) {
    const std::int64_t tokens = config.integer("seq_len") - (config.flag("cls_token") ? 1 : 0);
    const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
    if (tokens < 1) {
      throw Error(
          ErrorKind::kInvalid,
          fmt::format("{} works on a grid, and --seq-len {} leaves no token for it beside --cls-token: use 2 or "
                      "more",
                      who, config.integer("seq_len")));
    }
    if (side * side != tokens) {
      throw Error(ErrorKind::kInvalid,
                  fmt::format("{} works on a grid, and --seq-len {} is no square: give --grid HxW", who, tokens));
    }
    config.set("grid", fmt::format("{}x{}", side, side));
  }
}

void resolve_kernel(Config& config, const std::string& name, std::int64_t fallback) {
  if (!config.has(name)) {
    config.set(name, fallback);
  }
  if (const std::int64_t kernel = config.integer(name); kernel % 2 == 0 || kernel > 31) {
    throw Error(ErrorKind::kInvalid, fmt::format("{} {} is not an odd size up to 31", flag_of(name), kernel));
  }
}

void resolve_depthwise(Config& config, const std::string& who) {
  resolve_token_map(config, who);
  resolve_kernel(config, "kernel", 3);
}

View build_depthwise(GraphBuilder& builder, const Grid& grid, std::int64_t kernel, const View& x) {
  const std::int64_t channels = x.dims.back();
  const View w = builder.weight("dw", {channels, kernel, kernel});
  const View image =
      x.split(0, x.dims[0] / (grid.height * grid.width), grid.height * grid.width).split(1, grid.height, grid.width);
  const View y = builder.depthwise_conv2d("dwconv", image, w, builder.weight("db", {channels}), 1, kernel / 2);
  return y.as_matrix();
}

View build_depthwise(GraphBuilder& builder, const Config& config, const View& x) {
  return build_depthwise(builder, config.grid(), config.integer("kernel"), x);
}

} // namespace attnprof::operators
