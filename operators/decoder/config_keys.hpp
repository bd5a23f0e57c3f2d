#pragma once
#include "operators/core/op.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace attnprof::operators {

/// The keys of a config.json, which remembers those that were read. All errors are Error(kInvalid) with the origin, the
/// key and its value.
class ConfigKeys {
 public:
  using Names = std::vector<std::string>;

  ConfigKeys(const nlohmann::json& config, std::string origin);

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] std::string text(const std::string& key) const;
  /// A positive whole number; the first of the names that is there and not null.
  [[nodiscard]] std::int64_t integer(const Names& names) const;
  [[nodiscard]] std::int64_t integer(const char* key) const { return integer(Names{key}); }
  [[nodiscard]] std::int64_t integer_or(const Names& names, std::int64_t fallback) const;
  [[nodiscard]] std::int64_t integer_or(const char* key, std::int64_t fallback) const {
    return integer_or(Names{key}, fallback);
  }
  [[nodiscard]] double real_or(const Names& names, double fallback) const;
  [[nodiscard]] double real_or(const char* key, double fallback) const { return real_or(Names{key}, fallback); }
  [[nodiscard]] bool flag(const std::string& key, bool fallback) const;
  /// The activation that the first of the names that is there states. Refuses one that cannot be built.
  [[nodiscard]] StepFn activation_or(const Names& names, StepFn fallback) const;
  /// An even number of channels, the given share of a head.
  [[nodiscard]] std::int64_t share_of_head(const std::string& key, double fallback, std::int64_t head_dim) const;

  /// layer_types as the window of each block, 0 for full attention; empty where the key is absent.
  [[nodiscard]] std::vector<std::int64_t> layer_windows(std::int64_t window, std::int64_t depth) const;

  /// Refuses any other value than the one that can be built; an absent key passes.
  void require(const std::string& key, const nlohmann::json& expected) const;
  void require_false(const std::string& key) const { require(key, false); }
  void require_empty(const std::string& key) const { require(key, nlohmann::json::array()); }

  /// Refuses keys that concern attention, positions or experts and that nobody read.
  void refuse_unread() const;

 private:
  [[nodiscard]] const nlohmann::json* find(const Names& names) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;

  const nlohmann::json& config_;
  std::string origin_;
  mutable std::set<std::string> read_;
};

} // namespace attnprof::operators
