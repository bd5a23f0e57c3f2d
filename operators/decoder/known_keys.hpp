#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace attnprof::operators {

/// Whether a key of a config.json is known to leave shapes, work and bytes of inference as they are, whatever its
/// value: training, initialisation, tokens, generation, frequencies of rotations, selection of experts, metadata.
bool is_without_effect(std::string_view key);

/// The only value under which a key is without effect, where there is one: a switch that is off.
std::optional<nlohmann::json> only_value_without_effect(std::string_view key);

} // namespace attnprof::operators
