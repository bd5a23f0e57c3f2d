#include "operators/decoder/config_keys.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// A key that holds one of these says something about attention, positions or experts.
constexpr std::array<std::string_view, 17> kConcerned = {"attn",   "attention",   "head",   "rope",   "rotary", "kv_",
                                                         "window", "query",       "sparse", "lora",   "expert", "moe",
                                                         "alibi",  "layer_types", "sink",   "latent", "quant"};

/// Keys of released configurations that change values or training, but no shape, work or byte.
constexpr std::array<std::string_view, 29> kWithoutEffect = {"attention_dropout",
                                                             "attn_pdrop",
                                                             "attention_probs_dropout_prob",
                                                             "attn_implementation",
                                                             "_attn_implementation",
                                                             "rope_theta",
                                                             "rope_scaling",
                                                             "rope_local_base_freq",
                                                             "rope_parameters",
                                                             "rotary_emb_base",
                                                             "rotary_base",
                                                             "scale_attn_weights",
                                                             "scale_attn_by_inverse_layer_idx",
                                                             "reorder_and_upcast_attn",
                                                             "attention_softmax_in_fp32",
                                                             "scale_attention_softmax_in_fp32",
                                                             "max_window_layers",
                                                             "sliding_window",
                                                             "sliding_window_size",
                                                             "aux_loss_alpha",
                                                             "router_aux_loss_coef",
                                                             "output_router_logits",
                                                             "norm_topk_prob",
                                                             "output_attentions",
                                                             "use_cache",
                                                             "pretraining_tp",
                                                             "num_nextn_predict_layers",
                                                             "routed_scaling_factor",
                                                             "moe_aux_loss"};

/// Names that Hugging Face gives activations.
constexpr std::array<std::pair<std::string_view, StepFn>, 8> kActivations = {{{"silu", StepFn::kSilu},
                                                                              {"swish", StepFn::kSilu},
                                                                              {"relu", StepFn::kRelu},
                                                                              {"gelu", StepFn::kGelu},
                                                                              {"gelu_new", StepFn::kGeluTanh},
                                                                              {"gelu_fast", StepFn::kGeluTanh},
                                                                              {"gelu_pytorch_tanh", StepFn::kGeluTanh},
                                                                              {"tanh", StepFn::kTanh}}};

bool holds(std::string_view key, std::string_view part) {
  return key.find(part) != std::string_view::npos;
}

} // namespace

ConfigKeys::ConfigKeys(const nlohmann::json& config, std::string origin) : config_(config), origin_(std::move(origin)) {
  if (!config.is_object()) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: a config.json holds one object, not {}", origin_, config.type_name()));
  }
}

void ConfigKeys::refuse(const std::string& key, const std::string& why) const {
  throw Error(ErrorKind::kInvalid, fmt::format("{}: {} = {} {}", origin_, key, config_.at(key).dump(), why));
}

const nlohmann::json* ConfigKeys::find(const Names& names) const {
  const nlohmann::json* out = nullptr;
  for (const std::string& name : names) {
    const auto at = config_.find(name);
    if (at != config_.end()) {
      read_.insert(name);
      out = out == nullptr && !at->is_null() ? &*at : out;
    }
  }
  return out;
}

std::string ConfigKeys::text(const std::string& key) const {
  const nlohmann::json* value = find({key});
  if (value == nullptr) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: {} is missing: is this the config.json of a language model?", origin_, key));
  }
  if (!value->is_string()) {
    refuse(key, "is no text");
  }
  return value->get<std::string>();
}

std::int64_t ConfigKeys::integer(const Names& names) const {
  const std::int64_t value = integer_or(names, -1);
  if (value < 0) {
    throw Error(ErrorKind::kInvalid, fmt::format("{}: {} is missing", origin_, fmt::join(names, " or ")));
  }
  return value;
}

std::int64_t ConfigKeys::integer_or(const Names& names, std::int64_t fallback) const {
  const nlohmann::json* value = find(names);
  if (value == nullptr) {
    return fallback;
  }
  const bool whole =
      value->is_number_integer() && (!value->is_number_unsigned() || value->get<std::uint64_t>() < (1ULL << 40U));
  if (!whole || value->get<std::int64_t>() < 0 || (value->get<std::int64_t>() == 0 && fallback < 0)) {
    const auto key = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return config_.contains(name) && &config_.at(name) == value;
    });
    refuse(*key, "is no positive whole number");
  }
  return value->get<std::int64_t>();
}

double ConfigKeys::real_or(const Names& names, double fallback) const {
  const nlohmann::json* value = find(names);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number() || value->get<double>() < 0.0) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: {} = {} is no positive number", origin_, names.front(), value->dump()));
  }
  return value->get<double>();
}

bool ConfigKeys::flag(const std::string& key, bool fallback) const {
  const nlohmann::json* value = find({key});
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    refuse(key, "is neither true nor false");
  }
  return value->get<bool>();
}

StepFn ConfigKeys::activation_or(const Names& names, StepFn fallback) const {
  const nlohmann::json* value = find(names);
  if (value == nullptr) {
    return fallback;
  }
  const std::string name = value->is_string() ? value->get<std::string>() : value->dump();
  for (const auto& [known, fn] : kActivations) {
    if (name == known) {
      return fn;
    }
  }
  std::vector<std::string_view> known;
  for (const auto& entry : kActivations) {
    known.push_back(entry.first);
  }
  throw Error(ErrorKind::kInvalid,
              fmt::format("{}: activation '{}' cannot be built; only {} can", origin_, name, fmt::join(known, ", ")));
}

std::int64_t ConfigKeys::share_of_head(const std::string& key, double fallback, std::int64_t head_dim) const {
  const auto channels =
      static_cast<std::int64_t>(std::floor(real_or(Names{key}, fallback) * static_cast<double>(head_dim)));
  if (channels < 2 || channels > head_dim || channels % 2 != 0) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: {} rotates {} of a head's {} channels, which must be an even part", origin_, key,
                            channels, head_dim));
  }
  return channels;
}

std::vector<std::int64_t> ConfigKeys::layer_windows(std::int64_t window, std::int64_t depth) const {
  const std::string key = "layer_types";
  const nlohmann::json* value = find({key});
  std::vector<std::int64_t> out;
  if (value == nullptr) {
    return out;
  }
  if (!value->is_array() || static_cast<std::int64_t>(value->size()) != depth) {
    refuse(key, fmt::format("is no list of {} kinds of attention, one for each block", depth));
  }
  for (const nlohmann::json& kind : *value) {
    if (kind == "sliding_attention" && window == 0) {
      refuse(key, "has sliding blocks, but sliding_window is absent");
    }
    if (kind != "sliding_attention" && kind != "full_attention") {
      refuse(key, fmt::format("holds {}, which cannot be built; only full_attention and sliding_attention can",
                              kind.dump()));
    }
    out.push_back(kind == "full_attention" ? 0 : window);
  }
  return out;
}

void ConfigKeys::require(const std::string& key, const nlohmann::json& expected) const {
  const nlohmann::json* value = find({key});
  if (value != nullptr && *value != expected) {
    refuse(key, fmt::format("cannot be built, only {}", expected.dump()));
  }
}

void ConfigKeys::refuse_unread() const {
  for (const auto& [key, value] : config_.items()) {
    const bool without_effect =
        value.is_null() || std::find(kWithoutEffect.begin(), kWithoutEffect.end(), key) != kWithoutEffect.end();
    const bool concerned =
        std::any_of(kConcerned.begin(), kConcerned.end(), [&](std::string_view part) { return holds(key, part); });
    if (concerned && !without_effect && !read_.contains(key)) {
      refuse(key, "is not understood for this model_type, and it may change the work: remove it if it has no effect");
    }
  }
}

} // namespace attnprof::operators
