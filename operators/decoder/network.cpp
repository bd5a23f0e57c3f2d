#include "operators/layers/network.hpp"
#include "operators/decoder/blocks.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

View decoder_norm(GraphBuilder& builder, const Decoder& model, const std::string& name, const View& x) {
  return model.rms ? rms_norm(builder, name, x, model.norm_eps) : norm(builder, name, x, model.norm_eps);
}

namespace {

using Place = Decoder::NormPlace;

/// Fixed pseudo-random token ids; those outside this rank's part of the table give rows of zeros.
View token_ids(GraphBuilder& builder, const Decoder& whole, const Decoder& rank, std::int64_t count) {
  const auto make = [&] {
    GraphBuilder::Values ids = constant_values(count);
    std::uint64_t state = 1;
    for (std::int64_t i = 0; ids && i < count; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL; // Knuth's MMIX generator
      const auto id = static_cast<std::int64_t>((state >> 33U) % static_cast<std::uint64_t>(whole.vocab));
      ids->push_back(id < rank.vocab ? static_cast<float>(id) : -1.0F);
    }
    return ids;
  };
  return builder.row_numbers("token_ids", count, make);
}

View token_rows(GraphBuilder& builder, const Decoder& whole, const Decoder& rank, const DecoderPass& pass) {
  const Part part(builder, "embedding");
  const std::int64_t rows = (Count(pass.batch) * pass.tokens).value();
  const View table = builder.weight("tokens", {rank.vocab, rank.embedding_dim});
  View x = builder.gather("tokens", table, token_ids(builder, whole, rank, rows));
  if (rank.embedding_dim != rank.dim) {
    x = dense(builder, "project_in", x, rank.dim, false);
  }
  if (rank.embedding_scale != 1.0) {
    x = builder.scale("scale", x, rank.embedding_scale);
  }
  if (rank.positions > 0) {
    const View positions = builder.weight("positions", {rank.positions + rank.position_offset, rank.dim});
    const View used = positions.slice(0, rank.position_offset + pass.past_len, pass.tokens);
    x = builder.add("add_positions", x.split(0, pass.batch, pass.tokens), used.broadcast(0, pass.batch)).as_matrix();
  }
  return rank.embedding_norm ? decoder_norm(builder, rank, "norm", x) : x;
}

View network(GraphBuilder& builder, const Decoder& model, std::int64_t block, const View& x) {
  return model.has_experts(block) ? decoder_experts(builder, model, x)
                                  : decoder_ffn(builder, model, model.ffn_width, x);
}

/// One branch with its norms and the residual sum.
template <class Branch>
View sub_layer(GraphBuilder& builder, const Decoder& model, const std::string& name, const View& x, Branch branch) {
  const Part part(builder, name);
  const bool before = model.norm_place != Place::kAfterSum;
  View y = branch(before ? decoder_norm(builder, model, "norm", x) : x);
  if (model.norm_place == Place::kBeforeAndAfter) {
    y = decoder_norm(builder, model, "post_norm", y);
  }
  const View sum = builder.add("residual", x, y);
  return before ? sum : decoder_norm(builder, model, "norm", sum);
}

/// x + attention(norm x) + network(norm x), one norm or one for each.
View parallel_block(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, std::int64_t block,
                    const View& x) {
  const bool one = model.norm_place == Place::kParallelOne;
  const View shared = one ? decoder_norm(builder, model, "norm", x) : View{};
  const auto input = [&] { return one ? shared : decoder_norm(builder, model, "norm", x); };
  View y;
  {
    const Part part(builder, "mixer");
    y = builder.add("residual", x, decoder_attention(builder, model, pass, block, input()));
  }
  const Part part(builder, "ffn");
  return builder.add("residual", y, network(builder, model, block, input()));
}

View decoder_block(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, std::int64_t block, View x) {
  const Part part(builder, fmt::format("block{}", block));
  if (model.norm_place == Place::kParallelOne || model.norm_place == Place::kParallelTwo) {
    return parallel_block(builder, model, pass, block, x);
  }
  x = sub_layer(builder, model, "mixer", x,
                [&](const View& y) { return decoder_attention(builder, model, pass, block, y); });
  return sub_layer(builder, model, "ffn", x, [&](const View& y) { return network(builder, model, block, y); });
}

View logits_of(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, View x) {
  const Part part(builder, "head");
  if (!pass.all_logits && pass.tokens > 1) {
    x = builder.layout_copy("last_slice", x.split(0, pass.batch, pass.tokens).slice(1, pass.tokens - 1, 1)).as_matrix();
  }
  if (model.final_norm) {
    x = decoder_norm(builder, model, "norm", x);
  }
  if (model.embedding_dim != model.dim) {
    x = dense(builder, "project_out", x, model.embedding_dim, false);
  }
  const View table = dense_view(builder.graph().find("embedding.tokens"), {model.vocab, model.embedding_dim});
  const View w = model.tied ? table.transpose(0, 1) : builder.weight("logits.w", {model.embedding_dim, model.vocab});
  View y = model.logits_bias ? builder.linear("logits", x, w, builder.weight("logits.b", {model.vocab}))
                             : builder.matmul("logits", x, w);
  if (model.logits_cap > 0.0) {
    y = builder.activation("cap_tanh", builder.scale("cap_in", y, 1.0 / model.logits_cap), StepFn::kTanh);
    y = builder.scale("cap", y, model.logits_cap);
  }
  return y;
}

} // namespace

void build_decoder(GraphBuilder& builder, const Decoder& whole, const DecoderPass& pass) {
  const std::int64_t end = pass.past_len + pass.tokens;
  if (whole.positions > 0 && end > whole.positions) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--past-len {} and --seq-len {} end at position {}, past the {} learned positions of this "
                            "model: shorten them",
                            pass.past_len, pass.tokens, end, whole.positions));
  }
  const Decoder model = rank_of(whole, pass.ranks);
  View x = token_rows(builder, whole, model, pass);
  const std::int64_t depth = pass.max_depth > 0 ? std::min(pass.max_depth, model.depth) : model.depth;
  for (std::int64_t block = 0; block < depth; ++block) {
    x = decoder_block(builder, model, pass, block, x);
  }
  builder.mark_output(logits_of(builder, model, pass, x), "logits");
}

} // namespace attnprof::operators
