#include "operators/core/registry.hpp"
#include "operators/decoder/config.hpp"
#include "operators/decoder/presets.hpp"
#include "operators/layers/network.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace attnprof::operators {
namespace {

nlohmann::json json_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(path)) {
    throw Error(ErrorKind::kUsage, fmt::format("--model '{}' cannot be read: give the path of a config.json or a name "
                                               "of `list models`",
                                               path));
  }
  try {
    return nlohmann::json::parse(stream);
  } catch (const nlohmann::json::parse_error& fault) {
    throw Error(ErrorKind::kUsage, fmt::format("--model '{}' is no JSON: it breaks off or errs at byte {}; give the "
                                               "config.json of a language model",
                                               path, fault.byte));
  }
}

Decoder decoder_of(const Config& config) {
  const std::string& name = config.text("model");
  if (const std::optional<nlohmann::json> preset = decoder_preset(name)) {
    return decoder_from_config(*preset, name);
  }
  return decoder_from_config(json_of(name), name);
}

void resolve(Config& config) {
  const Decoder model = decoder_of(config);
  if (!config.has("phase")) {
    config.set("phase", std::string("prefill"));
  }
  const bool decode = config.text("phase") == "decode";
  const auto fill = [&](const char* name, std::int64_t value) {
    if (!config.has(name)) {
      config.set(name, value);
    }
  };
  fill("seq_len", decode ? 1 : 196);
  fill("past_len", decode ? 1023 : 0);
  (void)rank_of(model, config.integer("tp")); // refuses a count that does not divide before anything is built
}

void build(GraphBuilder& builder, const Config& config) {
  DecoderPass pass;
  pass.batch = config.integer("batch");
  pass.tokens = config.integer("seq_len");
  pass.past_len = config.integer("past_len");
  pass.decode = config.text("phase") == "decode";
  pass.all_logits = config.text("logits") == "all";
  pass.ranks = config.integer("tp");
  pass.max_depth = config.integer_or("max_depth", 0);
  build_decoder(builder, decoder_of(config), pass);
}

std::vector<ParamSpec> own_params() {
  return {{"tp", ParamKind::kInteger, "work of one of so many tensor-parallel ranks", std::int64_t{1}, 1, 4096, {}},
          {"logits",
           ParamKind::kChoice,
           "which tokens of a prefill get logits",
           std::string("last"),
           0,
           0,
           {"last", "all"}},
          max_depth_param()};
}

ModelDescriptor descriptor(const std::string& name) {
  ModelDescriptor out;
  out.name = name;
  out.params = {"phase", "seq_len", "past_len"};
  out.own_params = own_params();
  out.resolve = resolve;
  out.build = build;
  return out;
}

} // namespace

std::vector<ModelDescriptor> describe_models_decoder() {
  std::vector<ModelDescriptor> out;
  for (const std::string& name : decoder_preset_names()) {
    ModelDescriptor model = descriptor(name);
    const nlohmann::json config = *decoder_preset(name);
    model.summary = fmt::format("language model, {} blocks ({})", decoder_from_config(config, name).depth,
                                config.at("model_type").get<std::string>());
    model.source = "the released config.json of this name";
    out.push_back(std::move(model));
  }
  ModelDescriptor any = descriptor("config.json");
  any.summary =
      fmt::format("any language model whose config.json has a model_type of {}", fmt::join(known_model_types(), ", "));
  any.source = "Hugging Face configuration format; what each model_type implies: operators/decoder/config.cpp";
  any.reads_config_files = true;
  out.push_back(std::move(any));
  return out;
}

} // namespace attnprof::operators
