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

/// What a model_type says without a key: the defaults of its configuration class and the wiring of its code.
struct Family {
  std::string_view model_type;
  void (*apply)(Decoder& out, const ConfigKeys& keys);
};

void llama(Decoder& out, const ConfigKeys& keys) {
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", false);
  out.ffn_bias = keys.flag("mlp_bias", false);
}

void mistral(Decoder& out, const ConfigKeys& keys) {
  out.window = keys.integer_or("sliding_window", 0);
}

void mixtral(Decoder& out, const ConfigKeys& keys) {
  mistral(out, keys);
  out.experts =
      Experts{keys.integer("num_local_experts"), keys.integer("num_experts_per_tok"), out.ffn_width, 0, 0, false};
}

void qwen2(Decoder& out, const ConfigKeys& keys) {
  out.qkv_bias = true;
  if (keys.flag("use_sliding_window", false)) {
    out.window = keys.integer_or("sliding_window", 4096);
    out.window_from = keys.integer_or("max_window_layers", out.depth);
  }
}

void qwen3(Decoder& out, const ConfigKeys& keys) {
  qwen2(out, keys);
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", false);
  out.qk_norm = true;
}

void qwen3_moe(Decoder& out, const ConfigKeys& keys) {
  qwen3(out, keys);
  keys.require("decoder_sparse_step", 1);
  keys.require_empty("mlp_only_layers");
  out.experts = Experts{keys.integer("num_experts"),
                        keys.integer("num_experts_per_tok"),
                        keys.integer("moe_intermediate_size"),
                        0,
                        0,
                        false};
}

void gemma(Decoder& out, const ConfigKeys& keys) {
  out.tied = keys.flag("tie_word_embeddings", true);
  out.activation = StepFn::kGeluTanh;
  out.embedding_scale = std::sqrt(static_cast<double>(out.dim));
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", false);
}

void gemma2(Decoder& out, const ConfigKeys& keys) {
  gemma(out, keys);
  out.norm_place = Place::kBeforeAndAfter;
  out.score_scale = 1.0 / std::sqrt(keys.real_or("query_pre_attn_scalar", 256.0));
  out.score_cap = keys.real_or("attn_logit_softcapping", 50.0);
  out.logits_cap = keys.real_or("final_logit_softcapping", 30.0);
  out.window = keys.integer_or("sliding_window", 4096);
  out.full_every = 2;
}

void gemma3(Decoder& out, const ConfigKeys& keys) {
  gemma2(out, keys);
  out.score_cap = keys.real_or("attn_logit_softcapping", 0.0);
  out.logits_cap = keys.real_or("final_logit_softcapping", 0.0);
  out.qk_norm = true;
  out.full_every = keys.integer_or("sliding_window_pattern", 6);
}

void phi3(Decoder& out, const ConfigKeys& keys) {
  out.joint_qkv = true;
  out.window = keys.integer_or("sliding_window", 0);
}

void phi(Decoder& out, const ConfigKeys& keys) {
  keys.require_false("qk_layernorm");
  out.rms = out.gated_ffn = false;
  out.activation = StepFn::kGeluTanh;
  out.norm_place = Place::kParallelOne;
  out.qkv_bias = out.out_bias = out.ffn_bias = out.logits_bias = true;
  out.rope_dim = keys.share_of_head("partial_rotary_factor", 0.5, out.head_dim);
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
  keys.require("attention_head_type", out.kv_heads == 1 ? "multiquery" : "multihead");
}

void gptj(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGeluTanh);
  out.qkv_bias = out.out_bias = false;
  out.logits_bias = true;
  out.norm_place = Place::kParallelOne;
  out.rope_dim = keys.integer_or("rotary_dim", out.head_dim);
}

void gpt_neox(Decoder& out, const ConfigKeys& keys) {
  gpt(out, StepFn::kGelu);
  out.joint_qkv = true;
  out.qkv_bias = out.out_bias = keys.flag("attention_bias", true);
  out.norm_place = keys.flag("use_parallel_residual", true) ? Place::kParallelTwo : Place::kBefore;
  out.rope_dim = keys.share_of_head("rotary_pct", 0.25, out.head_dim);
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
  keys.require_false("apply_residual_connection_post_layernorm");
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
  const std::int64_t width = keys.integer("moe_intermediate_size");
  out.experts = Experts{keys.integer("n_routed_experts"),
                        keys.integer("num_experts_per_tok"),
                        width,
                        keys.integer_or("n_shared_experts", 0) * width,
                        keys.integer_or("first_k_dense_replace", 0),
                        false};
}

void deepseek_v3(Decoder& out, const ConfigKeys& keys) {
  deepseek(out, keys);
  out.experts->selection_bias = true;
}

constexpr std::array<Family, 21> kFamilies = {{{"llama", llama},
                                               {"mistral", mistral},
                                               {"mixtral", mixtral},
                                               {"qwen2", qwen2},
                                               {"qwen3", qwen3},
                                               {"qwen3_moe", qwen3_moe},
                                               {"gemma", gemma},
                                               {"gemma2", gemma2},
                                               {"gemma3_text", gemma3},
                                               {"phi", phi},
                                               {"phi3", phi3},
                                               {"falcon", falcon},
                                               {"gpt2", gpt2},
                                               {"gpt_bigcode", gpt_bigcode},
                                               {"gptj", gptj},
                                               {"gpt_neox", gpt_neox},
                                               {"opt", opt},
                                               {"bloom", bloom},
                                               {"starcoder2", starcoder2},
                                               {"deepseek_v2", deepseek},
                                               {"deepseek_v3", deepseek_v3}}};

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
Decoder common_sizes(const ConfigKeys& keys) {
  Decoder out;
  out.dim = keys.integer(Names{"hidden_size", "n_embd"});
  out.depth = keys.integer(Names{"num_hidden_layers", "n_layer"});
  out.heads = keys.integer(Names{"num_attention_heads", "n_head"});
  out.kv_heads = keys.integer_or(Names{"num_key_value_heads", "num_kv_heads"}, out.heads);
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
  out.ffn_width = keys.integer_or(Names{"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"}, 4 * out.dim);
  out.vocab = keys.integer("vocab_size");
  out.embedding_dim = out.dim;
  out.tied = keys.flag("tie_word_embeddings", false);
  out.norm_eps = keys.real_or(Names{"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon"}, 1e-5);
  return out;
}

} // namespace

std::vector<std::string> known_model_types() {
  std::vector<std::string> out;
  for (const Family& family : kFamilies) {
    out.emplace_back(family.model_type);
  }
  return out;
}

Decoder decoder_from_config(const nlohmann::json& config, const std::string& origin) {
  const ConfigKeys keys(config, origin);
  const Family& family = family_of(keys);
  Decoder out = common_sizes(keys);
  family.apply(out, keys);
  out.activation = keys.activation_or(activation_keys(family), out.activation);
  out.layer_windows = keys.layer_windows(out.window, out.depth);
  keys.refuse_unread();
  return out;
}

} // namespace attnprof::operators
