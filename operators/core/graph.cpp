#include "operators/core/graph.hpp"

namespace attnprof::operators {

TensorId Graph::find(std::string_view name) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) {
      return static_cast<TensorId>(i);
    }
  }
  return -1;
}

} // namespace attnprof::operators
