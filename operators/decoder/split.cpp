#include "operators/decoder/architecture.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

std::int64_t share(std::int64_t size, std::int64_t ranks, std::string_view what) {
  if (size % ranks != 0) {
    throw Error(ErrorKind::kInvalid, fmt::format("--tp {} does not divide the {} {} of this model", ranks, size, what));
  }
  return size / ranks;
}

/// Fewer key heads than ranks: each rank holds a copy of the one that its query heads read.
std::int64_t key_heads(std::int64_t kv_heads, std::int64_t ranks) {
  return kv_heads < ranks && ranks % kv_heads == 0 ? 1 : share(kv_heads, ranks, "key heads");
}

} // namespace

Decoder rank_of(const Decoder& whole, std::int64_t ranks) {
  Decoder out = whole;
  if (ranks == 1) {
    return out;
  }
  out.heads = share(whole.heads, ranks, "query heads");
  out.kv_heads = key_heads(whole.kv_heads, ranks);
  out.ffn_width = share(whole.ffn_width, ranks, "channels of the feed-forward network");
  out.vocab = ceil_div(whole.vocab, ranks); // frameworks pad the table
  if (out.experts) {
    out.experts->width = share(whole.experts->width, ranks, "channels of an expert");
    out.experts->shared_width = share(whole.experts->shared_width, ranks, "channels of the shared experts");
  }
  return out;
}

} // namespace attnprof::operators
