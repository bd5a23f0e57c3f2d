#pragma once
#include "operators/decoder/architecture.hpp"

#include <nlohmann/json_fwd.hpp>

namespace attnprof::operators {

/// Architecture from a Hugging Face config.json; of gemma3 the language model alone. A missing key has the default of
/// its configuration class; of quantization_config only fp8 passes, whose weights are counted in --dtype like all.
/// `origin` names the file in errors. Throws Error(kInvalid) where the model_type is not known, a size is missing, 0 or
/// absurd, a key is neither read nor known to be without effect, or a key has a value that this program cannot build:
/// never a guess.
Decoder decoder_from_config(const nlohmann::json& config, const std::string& origin);

/// The model_types that decoder_from_config reads.
std::vector<std::string> known_model_types();

} // namespace attnprof::operators
