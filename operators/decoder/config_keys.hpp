#pragma once
#include "operators/core/op.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace attnprof::operators {

/// No released network has a size beyond it, and products of two stay far below 64 bits.
inline constexpr std::int64_t kMaxConfigSize = std::int64_t{1} << 24U;

/// The keys of a config.json, which remembers those that were read. All errors are Error(kInvalid) with the origin, the
/// key and its value. An absent key has the value that its configuration class gives it, where that is known; a key
/// that is null says that there is none.
class ConfigKeys {
 public:
  using Names = std::vector<std::string>;

  /// `defaults` are those of the configuration class.
  ConfigKeys(const nlohmann::json& config, std::string origin, nlohmann::json defaults = nlohmann::json::object());

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] std::string text(const std::string& key) const;
  /// A positive whole number up to kMaxConfigSize; the first of the names that is there and not null. Names that are
  /// there together must agree.
  [[nodiscard]] std::int64_t integer(const Names& names) const;
  [[nodiscard]] std::int64_t integer(const char* key) const { return integer(Names{key}); }
  [[nodiscard]] std::int64_t integer_or(const Names& names, std::int64_t fallback) const;
  [[nodiscard]] std::int64_t integer_or(const char* key, std::int64_t fallback) const {
    return integer_or(Names{key}, fallback);
  }
  /// The same, where 0 has a meaning.
  [[nodiscard]] std::int64_t count_or(const char* key, std::int64_t fallback) const;
  /// A number that is not negative.
  [[nodiscard]] double real_or(const Names& names, double fallback) const;
  [[nodiscard]] double positive_or(const char* key, double fallback) const;
  [[nodiscard]] bool flag(const std::string& key, bool fallback) const;
  /// The activation that the first of the names that is there states. Refuses one that cannot be built.
  [[nodiscard]] StepFn activation_or(const Names& names, StepFn fallback) const;
  /// An even number of channels, the given share of a head.
  [[nodiscard]] std::int64_t share_of_head(const Names& names, double fallback, std::int64_t head_dim) const;

  /// layer_types as the window of each block, 0 for full attention; empty where the key is absent.
  [[nodiscard]] std::vector<std::int64_t> layer_windows(std::int64_t window, std::int64_t depth) const;

  /// Refuses any other value than the one that can be built; an absent key passes.
  void require(const std::string& key, const nlohmann::json& expected) const;
  void require_false(const std::string& key) const { require(key, false); }
  void require_empty(const std::string& key) const { require(key, nlohmann::json::array()); }

  /// Marks keys that the model's code passes over.
  void pass_over(const Names& names) const { read_.insert(names.begin(), names.end()); }

  /// Refuses every key that nobody read and that is not known to leave shapes, work and bytes as they are.
  void refuse_unread() const;

  /// Throws the error about this key and its value.
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;

 private:
  /// The key that holds a value, in the file or in the class.
  struct Found {
    std::string key;
    const nlohmann::json* value = nullptr;
  };
  [[nodiscard]] Found find(const Names& names) const;
  [[nodiscard]] std::int64_t whole_number(const Found& found, std::int64_t least) const;

  nlohmann::json config_, defaults_;
  std::string origin_;
  mutable std::set<std::string> read_;
};

} // namespace attnprof::operators
