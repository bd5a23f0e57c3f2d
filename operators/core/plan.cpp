#include "operators/core/plan.hpp"

#include "operators/core/fuse_attention.hpp"
#include "operators/core/fuse_copies.hpp"
#include "operators/core/fuse_steps.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

Graph fuse(Graph graph) {
  Rewriting ops(graph);
  fuse_attention_cores(ops);
  fuse_layout_copies(ops);
  fuse_steps(ops);
  ops.finish();
  return graph;
}

Graph plan_launches(Graph graph, std::string_view plan) {
  if (plan == "eager") {
    return graph;
  }
  if (plan == "fused") {
    return fuse(std::move(graph));
  }
  throw Error(ErrorKind::kUsage, fmt::format("plan '{}' is not known; choose eager or fused", plan));
}

} // namespace attnprof::operators
