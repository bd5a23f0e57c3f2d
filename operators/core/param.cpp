#include "operators/core/param.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// Sizes may be far beyond any real one. What makes launches, loops or threads one by one ends where it would exhaust
/// the machine before anything could be counted.
constexpr std::int64_t kMaxSize = 4'000'000'000;
constexpr std::int64_t kMaxDepth = 1'000;
constexpr std::int64_t kMaxFfnsPerSide = 1'000;
constexpr std::int64_t kMaxKernelSide = 65'536;
constexpr std::int64_t kMaxThreads = 1'024;

ParamSpec integer(std::string name, std::string help, Value fallback = {}, std::int64_t min = 1,
                  std::int64_t max = kMaxSize) {
  return {std::move(name), ParamKind::kInteger, std::move(help), std::move(fallback), min, max, {}};
}
ParamSpec choice(std::string name, std::string help, std::vector<std::string> choices, Value fallback = {}) {
  return {std::move(name), ParamKind::kChoice, std::move(help), std::move(fallback), 0, 0, std::move(choices)};
}
ParamSpec other(std::string name, ParamKind kind, std::string help, Value fallback = {}) {
  return {std::move(name), kind, std::move(help), std::move(fallback), 0, 0, {}};
}

} // namespace

std::string flag_of(std::string_view name) {
  std::string out = "--" + std::string(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string ParamSpec::flag() const {
  return flag_of(name);
}

const std::vector<ParamSpec>& shared_params() {
  using std::string;
  static const std::vector<ParamSpec> kParams = {
      other("model", ParamKind::kText, "a whole network: a name of `list models` or a config.json"),
      other("layout", ParamKind::kText, "block layout", string("op")),
      other("variant", ParamKind::kText, "attention variant"),
      choice("phase", "prefill or decode with a KV cache", {"prefill", "decode"}),
      integer("batch", "sequences or images", std::int64_t{1}),
      integer("seq_len", "tokens (new tokens, with a cache)", std::int64_t{196}),
      integer("past_len", "tokens already in the KV cache", {}, 0),
      integer("kv_len", "keys of a cross attention"),
      other("grid", ParamKind::kGrid, "HxW; sets seq_len to H*W"),
      integer("dim", "channels", std::int64_t{192}),
      integer("heads", "query heads", std::int64_t{3}),
      integer("kv_heads", "key and value heads"),
      integer("head_dim", "width of a head (dim/heads)"),
      integer("qk_dim", "query and key width of a head"),
      integer("v_dim", "value width of a head"),
      choice("ffn", "feed-forward kind", {"mlp", "mlp_dw", "glu", "swiglu"}),
      other("mlp_ratio", ParamKind::kReal, "FFN width / dim"),
      integer("ffn_dim", "FFN width, instead of mlp_ratio"),
      choice("activation", "of an mlp", {"gelu", "relu", "silu"}),
      other("expansion", ParamKind::kReal, "width / dim of a gated unit or of phi"),
      integer("chunk", "tokens per chunk"),
      integer("window", "side of a window, or keys kept by a sliding window"),
      integer("shift", "of the windows", {}, 0),
      integer("kernel", "side of a depthwise convolution", {}, 1, kMaxKernelSide),
      integer("n_ffn", "FFNs on each side of the mixer", std::int64_t{2}, 0, kMaxFfnsPerSide),
      integer("depth", "blocks of the layout", std::int64_t{1}, 1, kMaxDepth),
      other("skip", ParamKind::kText, "skipped blocks, 3-8 or 3,5,7,9"),
      choice("phi", "what replaces a skipped mixer", {"identity", "conv", "dwc", "full"}),
      other("causal", ParamKind::kFlag, "bottom-right aligned causal mask", false),
      other("rope", ParamKind::kFlag, "rotary position embedding", false),
      choice("scaling", "of the squared-relu scores", {"ns", "n2"}),
      choice("dtype", "element type in memory", {"f32", "bf16", "f16"}, string("f32")),
      choice("math", "what f32 products multiply in", {"f32", "tf32"}, string("f32")),
      choice("plan", "one launch per op, or fused", {"eager", "fused"}, string("eager")),
      choice("device", "where it runs", {"cpu", "cuda"}, string("cpu")),
      integer("threads", "worker threads (all cores the process may use)", {}, 1, kMaxThreads),
  };
  return kParams;
}

const ParamSpec& shared_param(std::string_view name) {
  const auto& params = shared_params();
  const auto found =
      std::find_if(params.begin(), params.end(), [&](const ParamSpec& spec) { return spec.name == name; });
  if (found == params.end()) {
    throw Error(ErrorKind::kInternal, fmt::format("no shared parameter is called '{}'", name));
  }
  return *found;
}

namespace {

[[noreturn]] void reject(const ParamSpec& spec, std::string_view text, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not valid: {}", spec.flag(), text, allowed));
}

Value parse_integer(const ParamSpec& spec, std::string_view text) {
  const std::string allowed = fmt::format("give a whole number from {} to {} (suffix k = 1024)", spec.min, spec.max);
  std::string_view digits = text;
  std::int64_t factor = 1;
  if (digits.size() > 1 && (digits.back() == 'k' || digits.back() == 'K')) {
    digits.remove_suffix(1);
    factor = 1024;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > spec.max / factor ||
      value * factor < spec.min) {
    reject(spec, text, allowed);
  }
  return value * factor;
}

Value parse_real(const ParamSpec& spec, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0.0 ||
      value > 1e6) {
    reject(spec, text, "give a positive number up to 1000000");
  }
  return value;
}

} // namespace

Grid parse_grid(std::string_view text) {
  const std::size_t cross = text.find('x');
  Grid grid;
  const auto read = [](std::string_view digits, std::int64_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size() && out > 0 && out <= 1'000'000;
  };
  if (cross == std::string_view::npos || !read(text.substr(0, cross), grid.height) ||
      !read(text.substr(cross + 1), grid.width)) {
    throw Error(ErrorKind::kUsage, fmt::format("--grid '{}' is not valid: give HEIGHTxWIDTH, such as 14x14", text));
  }
  return grid;
}

Value parse_value(const ParamSpec& spec, std::string_view text) {
  switch (spec.kind) {
  case ParamKind::kInteger: return parse_integer(spec, text);
  case ParamKind::kReal: return parse_real(spec, text);
  case ParamKind::kFlag:
    if (text == "true" || text == "1" || text == "on" || text.empty()) {
      return true;
    }
    if (text == "false" || text == "0" || text == "off") {
      return false;
    }
    reject(spec, text, "give true or false");
  case ParamKind::kChoice:
    if (std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
      reject(spec, text, fmt::format("choose one of {}", fmt::join(spec.choices, ", ")));
    }
    return std::string(text);
  case ParamKind::kGrid: {
    const Grid grid = parse_grid(text);
    return fmt::format("{}x{}", grid.height, grid.width);
  }
  case ParamKind::kText:
    if (text.empty()) {
      reject(spec, text, "give a name");
    }
    return std::string(text);
  }
  return {};
}

std::string to_string(const Value& value) {
  struct Print {
    std::string operator()(std::monostate /*absent*/) const { return {}; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return v; }
  };
  return std::visit(Print{}, value);
}

bool Config::has(std::string_view name) const {
  return !std::holds_alternative<std::monostate>(get(name));
}

namespace {

/// Tells the names that stand together in most configurations apart.
std::size_t hash_of(std::string_view name) {
  if (name.empty()) {
    return 0;
  }
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(name[i])); };
  return (at(0) * 10 + at(name.size() - 1) * 11 + at(name.size() / 2) * 3 + name.size() * 10) % 64;
}

bool is_named(const Config::Entry& entry, std::string_view name) {
  return entry.first.size() == name.size() && std::memcmp(entry.first.data(), name.data(), name.size()) == 0;
}

/// For names that share their hash: apart from the rest, which is short then and called thirty times a case.
[[gnu::noinline]] const Config::Entry* search(const std::vector<Config::Entry>& entries, std::string_view name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Config::Entry& entry) { return is_named(entry, name); });
  return found == entries.end() ? nullptr : &*found;
}

constexpr std::size_t kMostPlaces = 255; ///< of entries that have a place; a file may hold more names

/// Makes room for an entry in front of `at`.
template <class Places>
void shift_places(Places& places, std::size_t at) {
  for (std::uint8_t& place : places) {
    place = static_cast<std::uint8_t>(place > at ? place + 1 : place);
  }
}

} // namespace

const Config::Entry* Config::find(std::string_view name) const {
  const std::size_t place = places_[hash_of(name)];
  if (place == 0 || place > values_.size()) { // what was moved from has no entries and keeps its places
    return nullptr;
  }
  const Entry& entry = values_[place - 1];
  return is_named(entry, name) ? &entry : search(values_, name);
}

Config::Entry* Config::find(std::string_view name) {
  const Entry* found = std::as_const(*this).find(name);
  return found == nullptr ? nullptr : values_.data() + (found - values_.data());
}

void Config::index() {
  places_.fill(0);
  for (std::size_t i = std::min(values_.size(), kMostPlaces); i-- > 0;) {
    places_[hash_of(values_[i].first)] = static_cast<std::uint8_t>(i + 1);
  }
  if (values_.size() > kMostPlaces) { // any hash may be of one that has no place
    std::replace(places_.begin(), places_.end(), std::uint8_t{0}, std::uint8_t{1});
  }
}

const Value& Config::get(std::string_view name) const {
  static constinit const Value kAbsent;
  const Entry* entry = find(name);
  return entry == nullptr ? kAbsent : entry->second;
}

namespace {
template <class T>
const T& typed(const Config& config, std::string_view name) {
  const T* value = std::get_if<T>(&config.get(name));
  if (value == nullptr) {
    throw Error(ErrorKind::kInternal, fmt::format("parameter '{}' is absent or of another type", name));
  }
  return *value;
}
} // namespace

std::int64_t Config::integer(std::string_view name) const {
  return typed<std::int64_t>(*this, name);
}
double Config::real(std::string_view name) const {
  return typed<double>(*this, name);
}
const std::string& Config::text(std::string_view name) const {
  return typed<std::string>(*this, name);
}
bool Config::flag(std::string_view name) const {
  const bool* value = std::get_if<bool>(&get(name));
  return value != nullptr && *value;
}
Grid Config::grid() const {
  return parse_grid(text("grid"));
}
std::int64_t Config::integer_or(std::string_view name, std::int64_t fallback) const {
  const std::int64_t* value = std::get_if<std::int64_t>(&get(name));
  return value == nullptr ? fallback : *value;
}

void Config::set(std::string_view name, Value value) {
  if (Entry* entry = find(name)) {
    entry->second = std::move(value);
    return;
  }
  const auto is_before = [](const Entry& entry, std::string_view other) { return entry.first < other; };
  const auto at = std::lower_bound(values_.begin(), values_.end(), name, is_before);
  const auto place = static_cast<std::size_t>(at - values_.begin());
  values_.emplace(at, std::string(name), std::move(value));
  if (values_.size() > kMostPlaces) {
    index();
    return;
  }
  shift_places(places_, place);
  places_[hash_of(name)] = static_cast<std::uint8_t>(place + 1);
}
void Config::erase(std::string_view name) {
  if (const Entry* entry = find(name)) {
    values_.erase(values_.begin() + (entry - values_.data()));
    index();
  }
}

void Config::overlay(const Config& given) {
  auto at = values_.begin(); // both are sorted by name
  for (const Entry& entry : given.values_) {
    int order = -1;
    while (at != values_.end() && (order = at->first.compare(entry.first)) < 0) {
      ++at;
    }
    if (at == values_.end() || order != 0) {
      at = values_.insert(at, entry);
      index();
    } else if (!std::holds_alternative<std::monostate>(entry.second)) {
      at->second = entry.second;
    }
  }
}

} // namespace attnprof::operators
