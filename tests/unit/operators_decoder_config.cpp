// Keys of config.json: what is not understood is refused by name, never guessed.
#include "operators/core/error.hpp"
#include "operators/decoder/config.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

using namespace attnprof::operators;
using nlohmann::json;

namespace {

json llama() {
  return {{"model_type", "llama"},     {"hidden_size", 64},         {"num_hidden_layers", 2},
          {"num_attention_heads", 4},  {"num_key_value_heads", 2},  {"intermediate_size", 96},
          {"vocab_size", 100},         {"rope_theta", 500000.0},    {"attention_dropout", 0.0},
          {"torch_dtype", "bfloat16"}, {"initializer_range", 0.02}, {"rope_scaling", {{"rope_type", "llama3"}}}};
}

json with(json config, const std::string& key, const json& value) {
  config[key] = value;
  return config;
}

std::string message(const json& config) {
  try {
    (void)decoder_from_config(config, "config.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInvalid);
    return error.what();
  }
  return "accepted";
}

bool says(const json& config, const std::string& part) {
  const std::string text = message(config);
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("config.json: keys without effect on the work are passed over") {
  CHECK(message(llama()) == "accepted");
  CHECK(decoder_from_config(llama(), "x").head_dim == 16);
}

TEST_CASE("config.json: an attention key that is not understood is named") {
  for (const char* key : {"attention_sink_tokens", "kv_sharing_layers", "rope_interleave_every", "num_experts",
                          "sparse_block_size", "query_groups", "mla_heads"}) {
    INFO(key);
    CHECK(says(with(llama(), key, 3), key));
  }
}

TEST_CASE("config.json: values that cannot be built are named with what can") {
  CHECK(says(with(llama(), "model_type", "lama"), "did you mean 'llama'"));
  CHECK(says(with(llama(), "hidden_size", -4), "hidden_size = -4"));
  CHECK(says(with(llama(), "hidden_size", 64.5), "hidden_size = 64.5"));
  CHECK(says(with(llama(), "hidden_size", "64"), "hidden_size"));
  CHECK(says(with(llama(), "num_attention_heads", 5), "5 attention heads do not divide the width 64"));
  CHECK(says(with(llama(), "num_key_value_heads", 3), "3 key heads do not divide the 4 query heads"));
  CHECK(says(with(llama(), "layer_types", json::array({"full_attention", "linear_attention"})), "linear_attention"));
  CHECK(says(with(llama(), "layer_types", json::array({"full_attention"})), "2 kinds"));
  CHECK(says(json::array({1}), "one object"));
  CHECK(says(json::object(), "model_type is missing"));
  json no_size = llama();
  no_size.erase("hidden_size");
  CHECK(says(no_size, "hidden_size"));
}

TEST_CASE("config.json: windows by pattern, by the first block and by layer_types") {
  json gemma = {{"model_type", "gemma3_text"}, {"hidden_size", 64},     {"num_hidden_layers", 12},
                {"num_attention_heads", 4},    {"head_dim", 16},        {"intermediate_size", 96},
                {"vocab_size", 100},           {"sliding_window", 512}, {"sliding_window_pattern", 6}};
  const Decoder model = decoder_from_config(gemma, "x");
  CHECK(model.window_of(0) == 512);
  CHECK(model.window_of(5) == 0);
  CHECK(model.window_of(11) == 0);
  json qwen = llama();
  qwen["model_type"] = "qwen2";
  qwen["sliding_window"] = 4096;
  qwen["max_window_layers"] = 1;
  CHECK(decoder_from_config(qwen, "x").window_of(1) == 0);
  qwen["use_sliding_window"] = true;
  CHECK(decoder_from_config(qwen, "x").window_of(0) == 0);
  CHECK(decoder_from_config(qwen, "x").window_of(1) == 4096);
}

TEST_CASE("config.json: the activation is read, and one that cannot be built is refused") {
  CHECK(decoder_from_config(with(llama(), "hidden_act", "relu"), "x").activation == StepFn::kRelu);
  CHECK(decoder_from_config(with(llama(), "hidden_act", "gelu_new"), "x").activation == StepFn::kGeluTanh);
  CHECK(decoder_from_config(llama(), "x").activation == StepFn::kSilu);
  CHECK(says(with(llama(), "hidden_act", "frob"), "activation 'frob' cannot be built"));
  CHECK(says(with(llama(), "quantization_config", {{"bits", 4}}), "quantization_config"));
  json gemma = with(with(llama(), "model_type", "gemma"), "hidden_act", "gelu");
  CHECK(decoder_from_config(gemma, "x").activation == StepFn::kGeluTanh);
}

TEST_CASE("config.json: any key that is neither read nor known to be without effect is refused by name") {
  for (const char* key : {"qk_norm", "use_qk_norm", "qk_layernorm", "use_mqa", "use_differential", "rotary_typo"}) {
    INFO(key);
    CHECK(says(with(llama(), key, true), key));
  }
  for (const char* key : {"clip_qkv", "softmax_scale", "swa_layers", "index_topk", "partial_rotary_factor",
                          "sliding_window", "hiden_size", "embedding_multiplier"}) {
    INFO(key);
    CHECK(says(with(llama(), key, 7), key));
    CHECK(message(with(llama(), key, nullptr)) == "accepted"); // null says that there is none
  }
  CHECK(says(with(llama(), "position_embedding_type", "alibi"), "position_embedding_type = \"alibi\""));
  CHECK(says(with(llama(), "hybrid_override_pattern", "M*M"), "hybrid_override_pattern"));
  CHECK(says(with(llama(), "rope_parameters", {{"partial_rotary_factor", 0.5}}), "partial_rotary_factor = 0.5"));
  CHECK(message(with(llama(), "qk_norm", false)) == "accepted");
  CHECK(message(with(llama(), "quantization_config", {{"quant_method", "fp8"}})) == "accepted");
  CHECK(says(with(llama(), "quantization_config", {{"quant_method", "awq"}}), "quantization_config"));
}

TEST_CASE("config.json: sizes of 0 and absurd sizes are refused with key and value") {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                          "intermediate_size", "head_dim", "vocab_size"}) {
    INFO(key);
    CHECK(says(with(llama(), key, 0), std::string(key) + " = 0 is no positive whole number"));
    CHECK(says(with(llama(), key, 1'000'000'000'000), std::string(key) + " = 1000000000000 is more than"));
    CHECK(says(with(llama(), key, 18446744073709551615ULL), key));
  }
  json gemma = with(with(llama(), "model_type", "gemma3_text"), "sliding_window_pattern", 0);
  CHECK(says(gemma, "sliding_window_pattern = 0"));
  CHECK(says(with(with(llama(), "model_type", "gemma2"), "query_pre_attn_scalar", 0), "query_pre_attn_scalar = 0"));
  CHECK(says(with(with(llama(), "model_type", "mistral"), "sliding_window", 0), "sliding_window = 0"));
  CHECK(says(with(llama(), "n_embd", 32), "n_embd = 32 contradicts hidden_size = 64"));
}

TEST_CASE("config.json: a missing key has the default of its class, and null says that there is none") {
  const auto read = [](const char* type, const std::string& without) {
    json config = with(llama(), "model_type", type);
    config.erase(without);
    config["num_attention_heads"] = 32;
    config["hidden_size"] = 32 * 80;
    return decoder_from_config(config, "x");
  };
  CHECK(read("llama", "num_key_value_heads").kv_heads == 32);
  CHECK(read("mistral", "num_key_value_heads").kv_heads == 8);
  CHECK(read("mistral", "").window == 4096);
  CHECK(decoder_from_config(with(with(llama(), "model_type", "mistral"), "sliding_window", nullptr), "x").window == 0);
  CHECK(read("mixtral", "").window == 0);
  CHECK(read("mixtral", "").experts->count == 8);
  CHECK(read("qwen3", "").head_dim == 128);
  CHECK(read("gemma", "").head_dim == 256);
  CHECK(read("gemma2", "").window_of(0) == 4096);
  CHECK(read("gemma2", "").score_cap == 50.0);
  CHECK(read("gemma3_text", "").score_cap == 0.0);
  CHECK(read("gptj", "").rope_dim == 64);
  CHECK(read("starcoder2", "num_key_value_heads").kv_heads == 2);
  CHECK(read("llama", "intermediate_size").ffn_width == 11008);
  CHECK(read("gpt2", "intermediate_size").ffn_width == 4 * 32 * 80);
  json slides = with(with(llama(), "model_type", "qwen2"), "use_sliding_window", true);
  slides["num_hidden_layers"] = 30;
  CHECK(decoder_from_config(slides, "x").window_of(27) == 0);
  CHECK(decoder_from_config(slides, "x").window_of(28) == 4096);
}

TEST_CASE("config.json: rotated widths that do not fit a head are refused with key and value") {
  const json gptj = {{"model_type", "gptj"}, {"n_embd", 64}, {"n_layer", 1}, {"n_head", 4}, {"vocab_size", 10}};
  CHECK(says(with(gptj, "rotary_dim", 50), "rotary_dim = 50 must be an even part of a head's 16 channels"));
  CHECK(says(with(gptj, "rotary_dim", 5), "rotary_dim = 5"));
  CHECK(says(gptj, "rotary_dim = 64 (by default)"));
  CHECK(says(with(with(gptj, "rotary_dim", 4), "rotary", false), "rotary = false"));
  CHECK(says(with(llama(), "head_dim", 3), "head_dim = 3"));
  const json phi3 = with(llama(), "model_type", "phi3");
  CHECK(decoder_from_config(with(phi3, "partial_rotary_factor", 0.75), "x").rope_dim == 12);
  CHECK(says(with(phi3, "partial_rotary_factor", 0.2), "partial_rotary_factor = 0.2"));
  json latent = with(llama(), "model_type", "deepseek_v3");
  CHECK(says(with(latent, "qk_rope_head_dim", 3), "qk_rope_head_dim = 3"));
}

TEST_CASE("config.json: no token goes through more experts than there are") {
  json mixtral = with(with(llama(), "model_type", "mixtral"), "num_local_experts", 2);
  CHECK(says(with(mixtral, "num_experts_per_tok", 5), "num_experts_per_tok = 5 is more than the 2 experts"));
  CHECK(message(with(mixtral, "num_experts_per_tok", 2)) == "accepted");
}

TEST_CASE("config.json: of a Gemma 3 that sees images the language model is read") {
  const json text = {{"model_type", "gemma3_text"}, {"hidden_size", 64}, {"num_hidden_layers", 6}};
  const json config = {{"model_type", "gemma3"}, {"text_config", text}, {"vision_config", {{"hidden_size", 1152}}}};
  const Decoder model = decoder_from_config(config, "x");
  CHECK(model == decoder_from_config(text, "x"));
  CHECK(model.vocab == 262208);
  CHECK(model.heads == 8);
  CHECK(says(with(config, "fusion_layers", 3), "fusion_layers"));
  CHECK(says(with(config, "text_config", nullptr), "text_config is missing"));
  CHECK(says(with(config, "text_config", with(text, "model_type", "llama")), "text_config"));
}
