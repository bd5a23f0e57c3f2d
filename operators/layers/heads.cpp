#include "operators/layers/heads.hpp"

namespace attnprof::operators {

View project(GraphBuilder& builder, std::string_view name, const View& x, std::int64_t width, bool bias) {
  const View w = builder.weight({"w", name}, {x.dims.back(), width});
  return bias ? builder.linear({name, "_proj"}, x, w, builder.weight({"b", name}, {width}))
              : builder.matmul({name, "_proj"}, x, w);
}

View split_heads(GraphBuilder& builder, std::string_view name, const View& x, std::int64_t batch, std::int64_t heads) {
  const View split = x.split(0, batch, x.dims[0] / batch).split(2, heads, x.dims[1] / heads);
  return builder.layout_copy({name, "_split"}, split.transpose(1, 2));
}

View merge_heads(GraphBuilder& builder, const View& heads, std::int64_t dim, bool bias) {
  const View merged = builder.layout_copy("merge", heads.transpose(1, 2)).merge(2).as_matrix();
  const View wo = builder.weight("wo", {merged.dims[1], dim});
  return bias ? builder.linear("out_proj", merged, wo, builder.weight("bo", {dim}))
              : builder.matmul("out_proj", merged, wo);
}

View project_heads_of(GraphBuilder& builder, const Config& config, std::string_view name, const View& x) {
  const std::int64_t heads = config.integer("heads");
  const View y = project(builder, name, x, heads * config.integer("head_dim"));
  return split_heads(builder, name, y, config.integer("batch"), heads);
}

} // namespace attnprof::operators
