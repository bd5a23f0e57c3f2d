#include "operators/decoder/config_keys.hpp"

#include "operators/core/error.hpp"
#include "operators/decoder/known_keys.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// Names that Hugging Face gives activations.
constexpr std::array<std::pair<std::string_view, StepFn>, 8> kActivations = {{{"silu", StepFn::kSilu},
                                                                              {"swish", StepFn::kSilu},
                                                                              {"relu", StepFn::kRelu},
                                                                              {"gelu", StepFn::kGelu},
                                                                              {"gelu_new", StepFn::kGeluTanh},
                                                                              {"gelu_fast", StepFn::kGeluTanh},
                                                                              {"gelu_pytorch_tanh", StepFn::kGeluTanh},
                                                                              {"tanh", StepFn::kTanh}}};

} // namespace

ConfigKeys::ConfigKeys(const nlohmann::json& config, std::string origin, nlohmann::json defaults)
    : config_(config), defaults_(std::move(defaults)), origin_(std::move(origin)) {
  if (!config.is_object()) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: a config.json holds one object, not {}", origin_, config.type_name()));
  }
  // Newer files keep this one beside the frequencies.
  const std::string partial = "partial_rotary_factor";
  const auto rope = config_.find("rope_parameters");
  if (rope != config_.end() && rope->is_object() && rope->contains(partial) && !config_.contains(partial)) {
    const nlohmann::json share = rope->at(partial);
    config_[partial] = share;
  }
}

void ConfigKeys::refuse(const std::string& key, const std::string& why) const {
  const bool given = config_.contains(key);
  const nlohmann::json value = given ? config_.at(key) : defaults_.value(key, nlohmann::json());
  throw Error(ErrorKind::kInvalid,
              fmt::format("{}: {} = {}{} {}", origin_, key, value.dump(), given ? "" : " (by default)", why));
}

ConfigKeys::Found ConfigKeys::find(const Names& names) const {
  Found out;
  bool given = false;
  for (const std::string& name : names) {
    const auto at = config_.find(name);
    if (at != config_.end()) {
      read_.insert(name);
      given = true;
      if (out.value == nullptr && !at->is_null()) {
        out = {name, &*at};
      }
    }
  }
  for (const std::string& name : names) {
    const auto at = defaults_.find(name);
    if (!given && out.value == nullptr && at != defaults_.end()) {
      out = {name, &*at};
    }
  }
  return out;
}

std::string ConfigKeys::text(const std::string& key) const {
  const Found found = find({key});
  if (found.value == nullptr) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: {} is missing: is this the config.json of a language model?", origin_, key));
  }
  if (!found.value->is_string()) {
    refuse(key, "is no text");
  }
  return found.value->get<std::string>();
}

std::int64_t ConfigKeys::whole_number(const Found& found, std::int64_t least) const {
  const nlohmann::json& value = *found.value;
  const bool whole = value.is_number_integer() && (value.is_number_unsigned() || value.get<std::int64_t>() >= 0);
  if (!whole || value.get<std::uint64_t>() < static_cast<std::uint64_t>(least)) {
    refuse(found.key, least == 0 ? "is no whole number from 0 on" : "is no positive whole number");
  }
  if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxConfigSize)) {
    refuse(found.key, fmt::format("is more than the {} that a size of a network may have", kMaxConfigSize));
  }
  return value.get<std::int64_t>();
}

std::int64_t ConfigKeys::integer(const Names& names) const {
  const std::int64_t value = integer_or(names, -1);
  if (value < 0) {
    throw Error(ErrorKind::kInvalid, fmt::format("{}: {} is missing", origin_, fmt::join(names, " or ")));
  }
  return value;
}

std::int64_t ConfigKeys::integer_or(const Names& names, std::int64_t fallback) const {
  const Found found = find(names);
  if (found.value == nullptr) {
    return fallback;
  }
  const std::int64_t out = whole_number(found, 1);
  for (const std::string& name : names) {
    const auto other = config_.find(name);
    if (other != config_.end() && !other->is_null() && *other != *found.value) {
      refuse(name, fmt::format("contradicts {} = {}: they are two names of one size", found.key, out));
    }
  }
  return out;
}

std::int64_t ConfigKeys::count_or(const char* key, std::int64_t fallback) const {
  const Found found = find({key});
  return found.value == nullptr ? fallback : whole_number(found, 0);
}

double ConfigKeys::real_or(const Names& names, double fallback) const {
  const Found found = find(names);
  if (found.value == nullptr) {
    return fallback;
  }
  if (!found.value->is_number() || found.value->get<double>() < 0.0) {
    refuse(found.key, "is no positive number");
  }
  return found.value->get<double>();
}

double ConfigKeys::positive_or(const char* key, double fallback) const {
  const Found found = find({key});
  if (found.value == nullptr) {
    return fallback;
  }
  if (!found.value->is_number() || found.value->get<double>() <= 0.0) {
    refuse(key, "is no positive number");
  }
  return found.value->get<double>();
}

bool ConfigKeys::flag(const std::string& key, bool fallback) const {
  const nlohmann::json* value = find({key}).value;
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    refuse(key, "is neither true nor false");
  }
  return value->get<bool>();
}

StepFn ConfigKeys::activation_or(const Names& names, StepFn fallback) const {
  const nlohmann::json* value = find(names).value;
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

std::int64_t ConfigKeys::share_of_head(const Names& names, double fallback, std::int64_t head_dim) const {
  const double share = real_or(names, fallback);
  const double channels = std::floor(share * static_cast<double>(head_dim));
  if (channels < 2.0 || channels > static_cast<double>(head_dim) || std::fmod(channels, 2.0) != 0.0) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("{}: {} = {} rotates {} of a head's {} channels, which must be an even part", origin_,
                            names.front(), share, channels, head_dim));
  }
  return static_cast<std::int64_t>(channels);
}

std::vector<std::int64_t> ConfigKeys::layer_windows(std::int64_t window, std::int64_t depth) const {
  const std::string key = "layer_types";
  const nlohmann::json* value = find({key}).value;
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
  const nlohmann::json* value = find({key}).value;
  if (value != nullptr && *value != expected) {
    refuse(key, fmt::format("cannot be built, only {}", expected.dump()));
  }
}

void ConfigKeys::refuse_unread() const {
  for (const auto& [key, value] : config_.items()) {
    if (value.is_null() || read_.contains(key) || is_without_effect(key)) {
      continue;
    }
    if (const std::optional<nlohmann::json> only = only_value_without_effect(key)) {
      require(key, *only);
      continue;
    }
    if (key == "quantization_config" && value.is_object() && value.contains("quant_method") &&
        value.at("quant_method") == "fp8") {
      continue; // like torch_dtype it says how the file stores the weights; here --dtype does
    }
    refuse(key, "is not understood for this model_type, and it may change the work: remove it if it has no effect");
  }
}

} // namespace attnprof::operators
