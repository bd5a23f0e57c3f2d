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
