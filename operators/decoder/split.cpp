#include "operators/decoder/architecture.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// Sizes that are divided among ranks.
struct Divided {
  std::int64_t size;
  std::string_view what;
  bool copied_below = false; ///< where there are fewer than ranks, each rank holds a copy of one
};

std::vector<Divided> divided(const Decoder& whole) {
  std::vector<Divided> out{{whole.heads, "query heads"},
                           {whole.kv_heads, "key heads", true},
                           {whole.ffn_width, "channels of the feed-forward network"}};
  if (whole.experts) {
    out.push_back({whole.experts->width, "channels of an expert"});
    out.push_back({whole.experts->shared_width, "channels of the shared experts"});
  }
  return out;
}

bool divides(std::int64_t ranks, const Divided& one) {
  return one.size % ranks == 0 || (one.copied_below && one.size < ranks && ranks % one.size == 0);
}

/// Every rank has a query head, so that counts end there.
std::vector<std::int64_t> working_counts(const Decoder& whole) {
  const std::vector<Divided> sizes = divided(whole);
  std::vector<std::int64_t> out;
  for (std::int64_t ranks = 1; ranks <= std::min<std::int64_t>(whole.heads, 4096); ++ranks) {
    if (std::all_of(sizes.begin(), sizes.end(), [&](const Divided& one) { return divides(ranks, one); })) {
      out.push_back(ranks);
    }
  }
  return out;
}

} // namespace

Decoder rank_of(const Decoder& whole, std::int64_t ranks) {
  Decoder out = whole;
  if (ranks == 1) {
    return out;
  }
  for (const Divided& one : divided(whole)) {
    if (!divides(ranks, one)) {
      throw Error(ErrorKind::kInvalid, fmt::format("--tp {} does not divide the {} {} of this model: use one of {}",
                                                   ranks, one.size, one.what, fmt::join(working_counts(whole), ", ")));
    }
  }
  out.heads = whole.heads / ranks;
  out.kv_heads = std::max<std::int64_t>(1, whole.kv_heads / ranks);
  out.ffn_width = whole.ffn_width / ranks;
  out.vocab = ceil_div(whole.vocab, ranks); // frameworks pad the table
  if (out.experts) {
    out.experts->width = whole.experts->width / ranks;
    out.experts->shared_width = whole.experts->shared_width / ranks;
  }
  return out;
}

} // namespace attnprof::operators
