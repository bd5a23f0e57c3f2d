#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attnprof::operators {

/// A configuration value; monostate means "not given", which prints as null.
using Value = std::variant<std::monostate, std::int64_t, double, bool, std::string>;

enum class ParamKind { kInteger, kReal, kFlag, kChoice, kGrid, kText };

/// One workload parameter: from it follow the flag, its range check, help, the config column and the case id.
struct ParamSpec {
  std::string name; ///< with underscores; the flag has dashes
  ParamKind kind = ParamKind::kInteger;
  std::string help;
  Value fallback;                   ///< default; monostate: derived by the workload, or absent
  std::int64_t min = 1;             ///< integers
  std::int64_t max = 4'000'000'000; ///< integers: far above any real size, and named in the error
  std::vector<std::string> choices; ///< of kChoice

  [[nodiscard]] std::string flag() const; ///< "--seq-len"
};

/// The parameters shared by several workloads, in the order in which they print.
const std::vector<ParamSpec>& shared_params();
/// Throws Error(kInternal) for a name that is not shared.
const ParamSpec& shared_param(std::string_view name);

/// "--seq-len" for "seq_len".
std::string flag_of(std::string_view name);

/// Reads one value; throws Error(kUsage) with the flag, the text and the allowed range.
Value parse_value(const ParamSpec& spec, std::string_view text);
std::string to_string(const Value& value); ///< "" for monostate; booleans as "true", "false"

struct Grid {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
/// Throws Error(kUsage) unless the text is HxW.
Grid parse_grid(std::string_view text);

/// Values by parameter name.
class Config {
 public:
  using Entry = std::pair<std::string, Value>;
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] const Value& get(std::string_view name) const; ///< monostate where absent
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const; ///< false where absent
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] Grid grid() const;
  /// The value, or `fallback` where it is absent.
  [[nodiscard]] std::int64_t integer_or(std::string_view name, std::int64_t fallback) const;

  void set(std::string_view name, Value value);
  void erase(std::string_view name);
  /// Sets what is present there; what is absent there stays as it is here.
  void overlay(const Config& given);
  [[nodiscard]] const std::vector<Entry>& values() const { return values_; } ///< sorted by name
  friend bool operator==(const Config& a, const Config& b) { return a.values_ == b.values_; }

 private:
  [[nodiscard]] const Entry* find(std::string_view name) const;
  [[nodiscard]] Entry* find(std::string_view name);
  void index();

  std::vector<Entry> values_; // one block: a case copies its configuration several times
  /// By a hash of the name: one more than the place of an entry that has it, 0 where none has.
  std::array<std::uint8_t, 64> places_{};
};

} // namespace attnprof::operators
