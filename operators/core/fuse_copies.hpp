#pragma once
#include "operators/core/uses.hpp"

namespace attnprof::operators {

/// Removes layout copies: readers of the copy read its source with strides, or the writer of the source writes to where
/// the copy would have put it. A copy that neither way can express stays.
void fuse_layout_copies(Rewriting& ops);

/// Expresses `view` of the dense tensor behind `from` on the tensor behind `to`, where element i of `from` is element i
/// of `to` (equal sizes, `from` covers its tensor). Absent where no strides do it.
std::optional<View> remap(const View& view, const View& from, const View& to);

} // namespace attnprof::operators
