#include "operators/decoder/config.hpp"

#include "operators/core/registry.hpp"
#include "operators/decoder/config_keys.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

using Place = Decoder::NormPlace;
using Names = ConfigKeys::Names;

/// What a model_type says without a key: the wiring of its code, and the defaults of its configuration class as JSON.
/// The four sizes without which there is no network (width, depth, heads, vocabulary) must be given, save in Gemma 3,
/// whose released files leave them out.
struct Family {
  std::string_view model_type;
  void (*apply)(Decoder& out, const ConfigKeys& keys);
  std::string_view defaults = "{}";
  bool four_times_wide = false; ///< a network of no stated width is four times as wide as the stream
};

void llama(Decoder& out, const ConfigKeys& keys) {
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", false);
  out.ffn_bias = keys.flag("mlp_bias", false);
}

void mistral(Decoder& out, const ConfigKeys& keys) {
  out.window = keys.integer_or("sliding_window", 0);
}

/// Experts of `width` channels, one part of which each token goes through.
Experts experts_of(const ConfigKeys& keys, const Names& count, std::int64_t width) {
  Experts out;
  out.count = keys.integer(count);
  out.per_token = keys.integer("num_experts_per_tok");
  out.width = width;
  if (out.per_token > out.count) {
    keys.refuse("num_experts_per_tok", fmt::format("is more than the {} experts of {}", out.count, count.front()));
  }
  return out;
}

void mixtral(Decoder& out, const ConfigKeys& keys) {
  mistral(out, keys);
  out.experts = experts_of(keys, {"num_local_experts", "num_experts"}, out.ffn_width);
}

void qwen2(Decoder& out, const ConfigKeys& keys) {
  out.qkv_bias = true;
  const bool slides = keys.flag("use_sliding_window", false);
  const std::int64_t window = keys.count_or("sliding_window", 0);
  const std::int64_t from = keys.count_or("max_window_layers", out.depth);
  if (slides) {
    out.window = window;
    out.window_from = from;
  }
}

void qwen3(Decoder& out, const ConfigKeys& keys) {
  qwen2(out, keys);
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", false);
  out.qk_norm = true;
}

/// Experts in every block: other patterns, and windows, occur in no released file.
void qwen_moe(Decoder& out, const ConfigKeys& keys) {
  keys.require("decoder_sparse_step", 1);
  keys.require_empty("mlp_only_layers");
  keys.require_false("use_sliding_window");
  out.experts = experts_of(keys, {"num_experts", "num_local_experts"}, keys.integer("moe_intermediate_size"));
}

void qwen2_moe(Decoder& out, const ConfigKeys& keys) {
  qwen2(out, keys);
  out.qkv_bias = keys.flag("qkv_bias", true);
  qwen_moe(out, keys);
  out.experts->shared_width = keys.integer("shared_expert_intermediate_size");
  out.experts->shared_gate = true;
}

void qwen3_moe(Decoder& out, const ConfigKeys& keys) {
  qwen3(out, keys);
  qwen_moe(out, keys);
}

void gemma(Decoder& out, const ConfigKeys& keys) {
  keys.pass_over({"hidden_act"});
  out.tied = keys.flag("tie_word_embeddings", true);
  out.activation = StepFn::kGeluTanh;
  out.embedding_scale = std::sqrt(static_cast<double>(out.dim));
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", false);
}

void gemma2(Decoder& out, const ConfigKeys& keys) {
  gemma(out, keys);
  out.norm_place = Place::kBeforeAndAfter;
  out.score_scale = 1.0 / std::sqrt(keys.positive_or("query_pre_attn_scalar", 256.0));
  out.score_cap = keys.positive_or("attn_logit_softcapping", 0.0);
  out.logits_cap = keys.positive_or("final_logit_softcapping", 0.0);
  out.window = keys.integer_or(Names{"sliding_window", "sliding_window_size"}, 0);
  out.full_every = 2;
}

void gemma3(Decoder& out, const ConfigKeys& keys) {
  gemma2(out, keys);
  out.qk_norm = true;
  out.full_every = keys.integer_or(Names{"sliding_window_pattern", "_sliding_window_pattern"}, 6);
}

void phi3(Decoder& out, const ConfigKeys& keys) {
  out.joint_qkv = true;
  out.window = keys.integer_or("sliding_window", 0);
  out.rope_dim = keys.share_of_head({"partial_rotary_factor"}, 1.0, out.head_dim);
}

void phi(Decoder& out, const ConfigKeys& keys) {
  out.rms = out.gated_ffn = false;
  out.activation = StepFn::kGeluTanh;
  out.norm_place = Place::kParallelOne;
  out.qkv_bias = out.out_bias = out.ffn_bias = out.logits_bias = true;
  out.rope_dim = keys.share_of_head({"partial_rotary_factor"}, 0.5, out.head_dim);
}

void falcon(Decoder& out, const ConfigKeys& keys) {
  const bool grouped = keys.flag("new_decoder_architecture", false);
  const bool parallel = keys.flag("parallel_attn", true);
  const bool one_norm = grouped && keys.integer_or("num_ln_in_parallel_attn", 2) == 1;
  out.rms = out.gated_ffn = false;
  out.joint_qkv = true;
  out.activation = StepFn::kGelu;
  out.tied = keys.flag("tie_word_embeddings", true);
  out.qkv_bias = out.out_bias = out.ffn_bias = keys.flag("bias", false);
  out.alibi = keys.flag("alibi", false);
  out.rope_dim = out.alibi ? 0 : out.head_dim;
  const bool one_key_head = keys.flag("multi_query", true); // without meaning where the key heads are grouped
  if (!grouped) {
    out.kv_heads = one_key_head ? 1 : out.heads;
  }
  out.norm_place = grouped && !one_norm ? Place::kParallelTwo : parallel ? Place::kParallelOne : Place::kBefore;
}

/// What GPT-2 and its relatives share: LayerNorm, biases, two matrices in the network.
void gpt(Decoder& out, StepFn activation) {
  out.rms = out.gated_ffn = false;
  out.qkv_bias = out.out_bias = out.ffn_bias = true;
  out.activation = activation;
}

void gpt2(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGeluTanh);
  out.joint_qkv = true;
  out.tied = keys.flag("tie_word_embeddings", true);
  out.rope_dim = 0;
  out.positions = keys.integer("n_positions");
  keys.require_false("add_cross_attention");
}

void gpt_bigcode(Decoder& out, const ConfigKeys& keys) {
  gpt2(out, keys);
  out.kv_heads = keys.flag("multi_query", true) ? 1 : out.heads;
  if (const std::int64_t stated = keys.integer_or("num_key_value_heads", out.kv_heads); stated != out.kv_heads) {
    keys.refuse("num_key_value_heads", fmt::format("contradicts multi_query, which means {}", out.kv_heads));
  }
  keys.require("attention_head_type", out.kv_heads == 1 ? "multiquery" : "multihead");
}

void gptj(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGeluTanh);
  out.qkv_bias = out.out_bias = false;
  out.logits_bias = true;
  out.norm_place = Place::kParallelOne;
  keys.require("rotary", true);
  out.rope_dim = keys.integer_or("rotary_dim", out.head_dim);
  if (out.rope_dim > out.head_dim || out.rope_dim % 2 != 0) {
    keys.refuse("rotary_dim", fmt::format("must be an even part of a head's {} channels", out.head_dim));
  }
}

void gpt_neox(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGelu);
  out.joint_qkv = true;
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", true);
  out.norm_place = keys.flag("use_parallel_residual", true) ? Place::kParallelTwo : Place::kBefore;
  out.rope_dim = keys.share_of_head({"rotary_pct", "partial_rotary_factor"}, 0.25, out.head_dim);
}

void opt(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kRelu);
  out.qkv_bias = out.out_bias = out.ffn_bias = keys.flag("enable_bias", true);
  out.tied = keys.flag("tie_word_embeddings", true);
  out.rope_dim = 0;
  out.positions = keys.integer("max_position_embeddings");
  out.position_offset = 2;
  out.embedding_dim = keys.integer_or("word_embed_proj_dim", out.dim);
  if (!keys.flag("do_layer_norm_before", true)) {
    out.norm_place = Place::kAfterSum;
    out.final_norm = false;
  }
}

void bloom(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGeluTanh);
  out.joint_qkv = true;
  out.tied = keys.flag("tie_word_embeddings", true);
  out.rope_dim = 0;
  out.alibi = true;
  out.embedding_norm = true;
  if (out.ffn_width != 4 * out.dim) {
    keys.refuse("n_inner", fmt::format("cannot be built: the code of BLOOM has 4 * {} channels", out.dim));
  }
}

void starcoder2(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGeluTanh);
  keys.require("mlp_type", "default");
  keys.require("norm_type", "layer_norm");
  out.qkv_bias = out.out_bias = out.ffn_bias = keys.flag("use_bias", true);
  out.tied = keys.flag("tie_word_embeddings", true);
  out.window = keys.integer_or("sliding_window", 0);
}

void deepseek(Decoder& out, const ConfigKeys& keys) {
  keys.require("moe_layer_freq", 1);
  out.latent =
      LatentAttention{keys.integer_or("q_lora_rank", 0), keys.integer("kv_lora_rank"), keys.integer("qk_nope_head_dim"),
                      keys.integer("qk_rope_head_dim"), keys.integer("v_head_dim")};
  if (out.latent->rope_dim % 2 != 0) {
    keys.refuse("qk_rope_head_dim", "is odd: a rotation pairs the channels");
  }
  keys.require("qk_head_dim", out.latent->nope_dim + out.latent->rope_dim);
  const std::int64_t width = keys.integer("moe_intermediate_size");
  out.experts = experts_of(keys, {"n_routed_experts"}, width);
  out.experts->shared_width = keys.count_or("n_shared_experts", 0) * width;
  out.experts->first_block = keys.count_or("first_k_dense_replace", 0);
}

void deepseek_v3(Decoder& out, const ConfigKeys& keys) {
  deepseek(out, keys);
  out.experts->selection_bias = true;
}

// Defaults: the configuration classes of the transformers library, release 4.57.
constexpr auto kFamilies = std::to_array<Family>({
    {"llama", llama, R"({"intermediate_size": 11008})"},
    {"mistral", mistral, R"({"intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096})"},
    {"mixtral", mixtral,
     R"({"intermediate_size": 14336, "num_key_value_heads": 8, "num_local_experts": 8, )"
     R"("num_experts_per_tok": 2})"},
    {"qwen2", qwen2,
     R"({"intermediate_size": 22016, "num_key_value_heads": 32, "sliding_window": 4096, )"
     R"("max_window_layers": 28})"},
    {"qwen2_moe", qwen2_moe,
     R"({"intermediate_size": 5632, "num_key_value_heads": 16, "moe_intermediate_size": 1408, )"
     R"("shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4})"},
    {"qwen3", qwen3,
     R"({"intermediate_size": 22016, "num_key_value_heads": 32, "head_dim": 128, )"
     R"("sliding_window": 4096, "max_window_layers": 28})"},
    {"qwen3_moe", qwen3_moe,
     R"({"intermediate_size": 6144, "num_key_value_heads": 4, "moe_intermediate_size": 768, )"
     R"("num_experts": 128, "num_experts_per_tok": 8})"},
    {"gemma", gemma, R"({"intermediate_size": 24576, "num_key_value_heads": 16, "head_dim": 256})"},
    {"gemma2", gemma2,
     R"({"intermediate_size": 9216, "num_key_value_heads": 4, "head_dim": 256, )"
     R"("sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})"},
    {"gemma3_text", gemma3,
     R"({"vocab_size": 262208, "hidden_size": 2304, "num_hidden_layers": 26, )"
     R"("num_attention_heads": 8, "intermediate_size": 9216, "num_key_value_heads": 4, )"
     R"("head_dim": 256, "sliding_window": 4096})"},
    {"phi", phi, R"({"intermediate_size": 8192})"},
    {"phi3", phi3, R"({"intermediate_size": 8192})"},
    {"falcon", falcon, R"({})", true},
    {"gpt2", gpt2, R"({"n_positions": 1024})", true},
    {"gpt_bigcode", gpt_bigcode, R"({"n_positions": 1024})", true},
    {"gptj", gptj, R"({"rotary_dim": 64})", true},
    {"gpt_neox", gpt_neox, R"({"intermediate_size": 24576})"},
    {"opt", opt, R"({"ffn_dim": 3072, "max_position_embeddings": 2048})"},
    {"bloom", bloom, R"({})", true},
    {"starcoder2", starcoder2, R"({"intermediate_size": 12288, "num_key_value_heads": 2})"},
    {"deepseek_v2", deepseek,
     R"({"intermediate_size": 11008, "q_lora_rank": 1536, "kv_lora_rank": 512, )"
     R"("qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, )"
     R"("n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407})"},
    {"deepseek_v3", deepseek_v3,
     R"({"intermediate_size": 18432, "q_lora_rank": 1536, "kv_lora_rank": 512, )"
     R"("qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, )"
     R"("n_routed_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048, )"
     R"("num_experts_per_tok": 8, "first_k_dense_replace": 3})"},
});

const Family& family_of(const ConfigKeys& keys) {
  const std::string type = keys.text("model_type");
  for (const Family& family : kFamilies) {
    if (family.model_type == type) {
      return family;
    }
  }
  const std::vector<std::string> known = known_model_types();
  const std::string near = nearest_name(type, known);
  throw Error(ErrorKind::kInvalid,
              fmt::format("{}: model_type '{}' is not a decoder that this program knows{}; known: {}", keys.origin(),
                          type, near.empty() ? "" : fmt::format(", did you mean '{}'?", near), fmt::join(known, ", ")));
}

/// Where a family states its activation. Gemma's code passes over hidden_act, whose "gelu" was a mistake.
Names activation_keys(const Family& family) {
  return family.model_type.starts_with("gemma") ? Names{"hidden_activation"}
                                                : Names{"hidden_act", "activation_function", "activation"};
}

/// Sizes that every family has, under the names that it gives them.
Decoder common_sizes(const ConfigKeys& keys, bool four_times_wide) {
  Decoder out;
  out.dim = keys.integer(Names{"hidden_size", "n_embd", "n_embed", "d_model"});
  out.depth = keys.integer(Names{"num_hidden_layers", "n_layer"});
  out.heads = keys.integer(Names{"num_attention_heads", "n_head"});
  out.kv_heads = keys.integer_or(Names{"num_key_value_heads", "num_kv_heads", "n_head_kv"}, out.heads);
  out.head_dim = keys.integer_or("head_dim", 0);
  if (out.head_dim == 0) {
    if (out.dim % out.heads != 0) {
      throw Error(ErrorKind::kInvalid, fmt::format("{}: {} attention heads do not divide the width {}, and no head_dim "
                                                   "is given",
                                                   keys.origin(), out.heads, out.dim));
    }
    out.head_dim = out.dim / out.heads;
  }
  if (out.heads % out.kv_heads != 0) {
    throw Error(ErrorKind::kInvalid, fmt::format("{}: {} key heads do not divide the {} query heads", keys.origin(),
                                                 out.kv_heads, out.heads));
  }
  out.rope_dim = out.head_dim;
  const Names width{"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"};
  out.ffn_width = four_times_wide ? keys.integer_or(width, 4 * out.dim) : keys.integer(width);
  out.vocab = keys.integer("vocab_size");
  out.embedding_dim = out.dim;
  out.tied = keys.flag("tie_word_embeddings", false);
  out.norm_eps = keys.real_or(Names{"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon"}, 1e-5);
  return out;
}

/// The language model of a Gemma 3 that sees images too.
nlohmann::json text_part(const nlohmann::json& config, const std::string& origin) {
  const ConfigKeys keys(config, origin);
  const std::string key = "text_config";
  keys.pass_over({key, "tie_word_embeddings", "vision_config", "mm_tokens_per_image", "boi_token_index",
                  "eoi_token_index", "image_token_index"});
  keys.refuse_unread();
  if (!config.contains(key) || !config.at(key).is_object()) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: {} is missing: the language model of gemma3 stands there", origin, key));
  }
  nlohmann::json out = config.at(key);
  if (config.contains("tie_word_embeddings") && !out.contains("tie_word_embeddings")) {
    out["tie_word_embeddings"] = config.at("tie_word_embeddings");
  }
  const nlohmann::json type = out.value("model_type", nlohmann::json("gemma3_text"));
  if (type != "gemma3_text") {
    keys.refuse(key, "is no gemma3_text");
  }
  out["model_type"] = type;
  return out;
}

} // namespace

std::vector<std::string> known_model_types() {
  std::vector<std::string> out;
  for (const Family& family : kFamilies) {
    out.emplace_back(family.model_type);
  }
  out.emplace_back("gemma3");
  return out;
}

Decoder decoder_from_config(const nlohmann::json& config, const std::string& origin) {
  if (config.is_object() && config.value("model_type", nlohmann::json()) == "gemma3") {
    return decoder_from_config(text_part(config, origin), origin);
  }
  const Family& family = family_of(ConfigKeys(config, origin));
  const ConfigKeys keys(config, origin, nlohmann::json::parse(family.defaults));
  Decoder out = common_sizes(keys, family.four_times_wide);
  keys.pass_over({"model_type"});
  family.apply(out, keys);
  if (!out.latent && out.rope_dim % 2 != 0) {
    throw Error(ErrorKind::kInvalid, fmt::format("{}: head_dim = {}: a rotation pairs the channels of a head, so that "
                                                 "their number must be even",
                                                 origin, out.rope_dim));
  }
  out.activation = keys.activation_or(activation_keys(family), out.activation);
  out.layer_windows = keys.layer_windows(out.window, out.depth);
  keys.refuse_unread();
  return out;
}

} // namespace attnprof::operators
