#include "operators/exec/golden.hpp"

#include "operators/core/error.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace attnprof::operators {
namespace {

using nlohmann::json;

/// Keys of the file format that have another name as a flag.
std::string param_name(const std::string& key) {
  static const std::map<std::string, std::string> kNames = {
      {"hidden_dim", "ffn_dim"}, {"kind", "ffn"}, {"attention", "variant"}};
  const auto found = kNames.find(key);
  return found == kNames.end() ? key : found->second;
}

std::string text_of(const json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_array() && value.size() == 2) { // a grid
    return fmt::format("{}x{}", value[0].get<std::int64_t>(), value[1].get<std::int64_t>());
  }
  return value.dump();
}

/// A name that a variant and a layout share means the variant: the operator alone.
bool is_layout(const std::string& name) {
  const bool variant =
      std::any_of(variants().begin(), variants().end(), [&](const VariantDescriptor& v) { return v.name == name; });
  return !variant &&
         std::any_of(layouts().begin(), layouts().end(), [&](const LayoutDescriptor& l) { return l.name == name; });
}

/// Keys that restate what the workload fixes; they are checked where they could disagree.
bool restates(const std::string& key, const json& value, const std::string& workload, const json& config) {
  if (key == "norm" || key == "head_dim") {
    return true;
  }
  if (key == "kv_heads") {
    return value == (workload == "mqa" ? json(1) : config.value("heads", json()));
  }
  return key == "activation" && config.value("kind", "mlp") != "mlp";
}

Config config_of(const json& file) {
  const std::string name = file.at("operator").get<std::string>();
  const json& config = file.at("config");
  Config given;
  if (is_layout(name)) {
    given.set("layout", name);
    if (config.contains("attention")) {
      given.set("variant", config.at("attention").get<std::string>());
    }
  } else {
    given.set("variant", find_variant(name).name);
  }
  for (const auto& [key, value] : config.items()) {
    const std::string param = param_name(key);
    if (param == "variant") {
      continue;
    }
    if (param == "expanded_dim") {
      given.set("expansion", value.get<double>() / config.at("dim").get<double>());
      continue;
    }
    const bool known =
        std::any_of(all_params().begin(), all_params().end(), [&](const ParamSpec& s) { return s.name == param; });
    if (known && takes_param(given, param) && !(key == "activation" && restates(key, value, name, config))) {
      given.set(param, parse_value(find_param(param), text_of(value)));
    } else if (!restates(key, value, name, config)) {
      throw Error(ErrorKind::kUsage, fmt::format("operator '{}' does not take the config key '{}'", name, key));
    }
  }
  return resolve(given);
}

void read_tensors(const json& file, const char* group, std::map<std::string, GoldenTensor>& out) {
  if (!file.contains(group)) {
    return;
  }
  for (const auto& [name, tensor] : file.at(group).items()) {
    GoldenTensor read{tensor.at("shape").get<std::vector<std::int64_t>>(),
                      tensor.at("data").get<std::vector<double>>()};
    std::int64_t elements = 1;
    for (const std::int64_t dim : read.shape) {
      elements *= dim;
    }
    if (elements != static_cast<std::int64_t>(read.values.size())) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("tensor '{}' has {} values, its shape needs {}", name, read.values.size(), elements));
    }
    out[name] = std::move(read);
  }
}

} // namespace

GoldenCase read_golden(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw Error(ErrorKind::kIo, fmt::format("golden file '{}' cannot be read: check the path", file.string()));
  }
  try {
    const json parsed = json::parse(stream);
    if (parsed.at("schema") != "attnprof.golden/1") {
      throw Error(ErrorKind::kUsage, fmt::format("schema '{}' is not attnprof.golden/1", parsed.at("schema").dump()));
    }
    GoldenCase out;
    out.name = parsed.at("name").get<std::string>();
    out.config = config_of(parsed);
    out.tolerance_rel_l2 = parsed.at("tolerance").at("rel_l2").get<double>();
    read_tensors(parsed, "inputs", out.given);
    read_tensors(parsed, "weights", out.given);
    read_tensors(parsed, "outputs", out.outputs);
    return out;
  } catch (const json::exception& fault) {
    throw Error(ErrorKind::kUsage,
                fmt::format("golden file '{}' is not in the format: {}", file.string(), fault.what()));
  } catch (const Error& fault) {
    throw Error(ErrorKind::kUsage, fmt::format("golden file '{}': {}", file.string(), fault.what()));
  }
}

} // namespace attnprof::operators
