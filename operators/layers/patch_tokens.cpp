#include "operators/layers/patch_tokens.hpp"

#include <array>

namespace attnprof::operators {
namespace {

constexpr std::int64_t kClasses = 1000;
constexpr std::int64_t kPatch = 16;
constexpr double kEps = 1e-6;
constexpr std::array<const char*, 2> kExtraTokens = {"cls", "dist"};

} // namespace

View patch_tokens(GraphBuilder& builder, const PlainTrunk& trunk, std::int64_t batch, std::int64_t size) {
  const Part part(builder, "patches");
  const View image = image_input(builder, batch, size);
  const View patches = conv(builder, "conv", image, trunk.dim, kPatch, kPatch, 0);
  const std::int64_t count = patches.dims[1] * patches.dims[2];
  const std::int64_t tokens = count + trunk.extra_tokens;
  const View x = builder.temporary({batch, tokens, trunk.dim});
  for (std::int64_t i = 0; i < trunk.extra_tokens; ++i) {
    const char* name = kExtraTokens.at(static_cast<std::size_t>(i));
    const View token = builder.weight(name, {1, trunk.dim}).broadcast(0, batch);
    builder.copy_into(std::string(name) + "_concat", token, x.slice(1, i, 1));
  }
  builder.copy_into("patch_concat", as_tokens(patches).split(0, batch, count), x.slice(1, trunk.extra_tokens, count));
  const View positions = builder.weight("positions", {tokens, trunk.dim}).broadcast(0, batch);
  return builder.add("add_positions", x, positions).as_matrix();
}

void classify(GraphBuilder& builder, const PlainTrunk& trunk, const View& x, std::int64_t batch) {
  const Part part(builder, "head");
  const View y = norm(builder, "norm", x, kEps).split(0, batch, x.dims[0] / batch);
  for (std::int64_t i = 0; i < trunk.extra_tokens; ++i) {
    const std::string name = kExtraTokens.at(static_cast<std::size_t>(i));
    const View token = builder.layout_copy(name + "_slice", y.slice(1, i, 1)).as_matrix();
    builder.mark_output(dense(builder, name + "_logits", token, kClasses), name + "_logits");
  }
}

} // namespace attnprof::operators
