#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::operators {

/// Names of the configurations in operators/decoder/presets, sorted.
std::vector<std::string> decoder_preset_names();
/// The released configuration of that name, as far as it concerns shapes.
std::optional<nlohmann::json> decoder_preset(std::string_view name);

} // namespace attnprof::operators
