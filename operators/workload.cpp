#include "operators/workload.hpp"

#include "operators/core/product_math.hpp"
#include "operators/layers/lower_layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace attnprof::operators {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Taken by every workload: sizes of the input, and how and where it runs.
const Names& common_names() {
  static const Names kNames = {"layout", "batch", "seq_len", "grid",   "dim",
                               "dtype",  "math",  "plan",    "device", "threads"};
  return kNames;
}

std::string text_or(const Config& config, std::string_view name) {
  return config.has(name) ? config.text(name) : std::get<std::string>(find_param(name).fallback);
}

const LayoutDescriptor& layout_of(const Config& given) {
  return find_layout(text_or(given, "layout"));
}
const VariantDescriptor& variant_of(const Config& given) {
  if (given.has("variant")) {
    return find_variant(given.text("variant"));
  }
  for (const auto& [name, value] : layout_of(given).fallbacks) {
    if (name == "variant") {
      return find_variant(std::get<std::string>(value));
    }
  }
  return find_variant("mha");
}

void add_own_params(std::vector<ParamSpec>& all, const std::vector<ParamSpec>& own) {
  for (const ParamSpec& spec : own) {
    const auto same = [&](const ParamSpec& other) { return other.name == spec.name; };
    if (std::none_of(all.begin(), all.end(), same)) {
      // In front of dtype, plan, device and threads, which end every id.
      const auto at =
          std::find_if(all.begin(), all.end(), [](const ParamSpec& other) { return other.name == "dtype"; });
      all.insert(at, spec);
    }
  }
}

} // namespace

const std::vector<ParamSpec>& all_params() {
  static const std::vector<ParamSpec> kAll = [] {
    std::vector<ParamSpec> all = shared_params();
    for (const VariantDescriptor& variant : variants()) {
      add_own_params(all, variant.own_params);
    }
    for (const LayoutDescriptor& layout : layouts()) {
      add_own_params(all, layout.own_params);
    }
    for (const ModelDescriptor& model : models()) {
      add_own_params(all, model.own_params);
    }
    return all;
  }();
  return kAll;
}

const ParamSpec& find_param(std::string_view name) {
  const std::vector<ParamSpec>& all = all_params();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ParamSpec& spec) { return spec.name == name; });
  if (found != all.end()) {
    return *found;
  }
  std::vector<std::string> known;
  for (const ParamSpec& spec : all) {
    known.push_back(spec.name);
  }
  const std::string near = nearest_name(name, known);
  throw Error(ErrorKind::kUsage, fmt::format("parameter '{}' is not known{}", name,
                                             near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
}

namespace {

/// Whether an attention variant in a layout takes the parameter; `variant` is null in a layout without one.
bool layout_takes(const LayoutDescriptor& layout, const VariantDescriptor* variant, std::string_view name) {
  if (name == "variant") {
    return variant != nullptr;
  }
  return common_names().contains(name) || takes(layout, name) || (variant != nullptr && takes(*variant, name));
}

} // namespace

namespace {

bool model_takes(const ModelDescriptor& model, std::string_view name) {
  return takes(model, name) || name == "model" || name == "batch" || name == "dtype" || name == "math" ||
         name == "plan" || name == "device" || name == "threads";
}

} // namespace

bool takes_param(const Config& given, std::string_view name) {
  if (given.has("model")) {
    return model_takes(find_model(given.text("model")), name);
  }
  if (common_names().contains(name)) {
    return true;
  }
  const LayoutDescriptor& layout = layout_of(given);
  return layout_takes(layout, layout.takes_variant ? &variant_of(given) : nullptr, name);
}

std::string takers_of(std::string_view name) {
  std::vector<std::string> takers;
  const auto collect = [&](const auto& descriptors, std::string_view kind) {
    std::vector<std::string> names;
    for (const auto& descriptor : descriptors) {
      if (takes(descriptor, name)) {
        names.push_back(descriptor.name);
      }
    }
    constexpr std::size_t kShown = 12; // sizes of many network families
    const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : std::string();
    names.resize(std::min(names.size(), kShown));
    if (!names.empty()) {
      takers.push_back(fmt::format("{} {}{}", kind, fmt::join(names, ", "), more));
    }
  };
  collect(layouts(), "layouts");
  collect(variants(), "variants");
  collect(models(), "models");
  return takers.empty() ? "no workload of this build" : fmt::format("{}", fmt::join(takers, "; "));
}

namespace {

/// grid fixes seq_len; a decode step is one token unless told otherwise.
void resolve_lengths(Config& config) {
  if (config.has("grid")) {
    const Grid grid = config.grid();
    const std::int64_t tokens = (Count(grid.height) * grid.width).value();
    const std::int64_t with_class = tokens + (config.flag("cls_token") ? 1 : 0);
    if (config.has("seq_len") && config.integer("seq_len") != with_class) {
      throw Error(ErrorKind::kInvalid,
                  fmt::format("--seq-len {} contradicts --grid {}, which has {} tokens: give one of them",
                              config.integer("seq_len"), config.text("grid"), with_class));
    }
    config.set("seq_len", with_class);
  } else if (config.has("phase") && config.text("phase") == "decode" && !config.has("seq_len")) {
    config.set("seq_len", std::int64_t{1});
  }
}

} // namespace

Resolver::Resolver(const Config& given) {
  if (given.has("model")) {
    model_ = &find_model(given.text("model"));
    // Sizes are the network's own: the fallbacks of shared parameters are those of a single operator.
    for (const char* name : {"batch", "dtype", "math", "plan", "device"}) {
      fallbacks_.set(name, find_param(name).fallback);
    }
    for (const ParamSpec& spec : model_->own_params) {
      if (!fallbacks_.has(spec.name) && !std::holds_alternative<std::monostate>(spec.fallback)) {
        fallbacks_.set(spec.name, spec.fallback);
      }
    }
    return;
  }
  layout_ = &layout_of(given);
  variant_ = layout_->takes_variant ? &variant_of(given) : nullptr;
  for (const ParamSpec& spec : all_params()) {
    if (!std::holds_alternative<std::monostate>(spec.fallback) && takes(spec.name)) {
      fallbacks_.set(spec.name, spec.fallback);
    }
  }
}

bool Resolver::takes(std::string_view name) const {
  return model_ != nullptr ? model_takes(*model_, name) : layout_takes(*layout_, variant_, name);
}

void Resolver::check_taken(const Config& given) const {
  for (const auto& [name, value] : given.values()) {
    if (std::holds_alternative<std::monostate>(value)) {
      continue;
    }
    const ParamSpec& spec = find_param(name);
    if (!takes(name)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} does not apply to this workload; it is taken by {}", spec.flag(), takers_of(name)));
    }
  }
}

Config Resolver::resolve(Config config) const {
  if (model_ != nullptr) {
    config.fill_absent(fallbacks_);
    model_->resolve(config);
    check_product_math(config);
    return config;
  }
  config.set("layout", layout_->name);
  for (const auto& [name, value] : layout_->fallbacks) {
    if (!config.has(name)) {
      config.set(name, value);
    }
  }
  if (variant_ != nullptr) {
    config.set("variant", variant_->name);
  }
  resolve_lengths(config);
  config.fill_absent(fallbacks_);
  if (layout_->prepare != nullptr) {
    layout_->prepare(config);
  }
  if (variant_ != nullptr && variant_->resolve != nullptr) {
    variant_->resolve(config);
  }
  if (layout_->resolve != nullptr) {
    layout_->resolve(config);
  }
  check_product_math(config);
  return config;
}

Config resolve(const Config& given) {
  const Resolver resolver(given);
  resolver.check_taken(given);
  return resolver.resolve(given);
}

namespace {

/// ':' separates the parts of an id and '%' escapes; both are rare, a path or a future name may hold them.
void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == ':' || c == '%' || c == '\n') {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
}

/// What to_string prints, without a text of its own for each value.
struct AppendValue {
  std::string& out;
  void operator()(std::monostate /*absent*/) const {}
  void operator()(std::int64_t value) const {
    std::array<char, 24> digits;
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }
  void operator()(double value) const { append_escaped(out, to_string(value)); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(const std::string& value) const { append_escaped(out, value); }
};

/// Places in all_params() by name.
std::size_t place_of(std::string_view name) {
  static const std::unordered_map<std::string_view, std::size_t> kPlaces = [] {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < all_params().size(); ++i) {
      places.emplace(all_params()[i].name, i);
    }
    return places;
  }();
  const auto found = kPlaces.find(name);
  return found == kPlaces.end() ? all_params().size() : found->second;
}

std::string unescape(std::string_view text, std::string_view id) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string digits(text.substr(i + 1, 2));
    const bool valid = digits.size() == 2 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!valid) {
      throw Error(ErrorKind::kUsage, fmt::format("case id '{}' has a broken escape at '{}'", id, text.substr(i)));
    }
    out += static_cast<char>(std::stoi(digits, nullptr, 16));
    i += 2;
  }
  return out;
}

} // namespace

std::string case_id(const Config& resolved) {
  // In the order of all_params(); of some seventy a workload takes twenty.
  std::vector<std::pair<std::size_t, const Config::Entry*>> parts;
  parts.reserve(resolved.values().size());
  for (const Config::Entry& entry : resolved.values()) {
    const auto& [name, value] = entry;
    const bool* flag = std::get_if<bool>(&value);
    const bool silent = std::holds_alternative<std::monostate>(value) || (flag != nullptr && !*flag) ||
                        (name == "device" && value == Value(std::string("cpu"))) ||
                        (name == "math" && value == Value(std::string(name_of(ProductMath::kF32))));
    const std::size_t place = place_of(name);
    if (!silent && place < all_params().size()) {
      parts.emplace_back(place, &entry);
    }
  }
  std::sort(parts.begin(), parts.end());
  std::string id;
  id.reserve(32 * parts.size());
  for (const auto& [place, entry] : parts) {
    if (!id.empty()) {
      id += ':';
    }
    id.append(entry->first).push_back('=');
    std::visit(AppendValue{id}, entry->second);
  }
  return id;
}

bool looks_like_case_id(std::string_view text) {
  return text.find('=') != std::string_view::npos;
}

Config parse_case_id(std::string_view id) {
  Config config;
  std::size_t begin = 0;
  while (begin <= id.size()) {
    const std::size_t end = std::min(id.find(':', begin), id.size());
    const std::string_view part = id.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw Error(ErrorKind::kUsage, fmt::format("case id '{}': '{}' is not name=value", id, part));
    }
    const ParamSpec& spec = find_param(part.substr(0, equals));
    if (config.has(spec.name)) {
      throw Error(ErrorKind::kUsage, fmt::format("case id '{}' gives '{}' twice", id, spec.name));
    }
    config.set(spec.name, parse_value(spec, unescape(part.substr(equals + 1), id)));
    begin = end + 1;
  }
  return config;
}

Graph build(const Config& resolved, Graph recycled) {
  GraphBuilder builder(dtype_from_name(resolved.text("dtype")), std::move(recycled));
  if (resolved.has("model")) {
    find_model(resolved.text("model")).build(builder, resolved);
    return builder.take();
  }
  const LayoutDescriptor& layout = layout_of(resolved);
  const Extents tokens{resolved.integer("batch"), resolved.integer("seq_len"), resolved.integer("dim")};
  const View x = builder.input("x", layout.input != nullptr ? layout.input(resolved) : tokens).as_matrix();
  builder.mark_output(lower_layout(builder, resolved, layout, x), "y");
  return builder.take();
}

} // namespace attnprof::operators
