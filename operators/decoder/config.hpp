#pragma once
#include "operators/decoder/architecture.hpp"

#include <nlohmann/json_fwd.hpp>

namespace attnprof::operators {

/// Architecture from a Hugging Face config.json. `origin` names it in errors. Throws Error(kInvalid) where the
/// model_type is not known, a size is missing or not positive, a key that concerns attention or experts is not
/// understood, or a key has a value that this program cannot build: never a guess.
Decoder decoder_from_config(const nlohmann::json& config, const std::string& origin);

/// The model_types that decoder_from_config reads.
std::vector<std::string> known_model_types();

} // namespace attnprof::operators
