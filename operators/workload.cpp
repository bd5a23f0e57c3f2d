#include "operators/workload.hpp"

#include "operators/core/product_math.hpp"
#include "operators/layers/lower_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace attnprof::operators {
namespace {

using NameSet = std::set<std::string, std::less<>>;

/// Taken by every layout: sizes of the input, what it computes in, and how and where it runs.
bool is_common(std::string_view name) {
  static const NameSet kNames = {"layout", "batch", "seq_len", "grid", "dim", "dtype", "math"};
  return kNames.contains(name) || is_of_run(name);
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
  return is_common(name) || takes(layout, name) || (variant != nullptr && takes(*variant, name));
}

} // namespace

namespace {

bool model_takes(const ModelDescriptor& model, std::string_view name) {
  return takes(model, name) || name == "model" || name == "batch" || name == "dtype" || name == "math" ||
         is_of_run(name);
}

} // namespace

bool names_workload(std::string_view name) {
  return std::find(kWorkloadNames.begin(), kWorkloadNames.end(), name) != kWorkloadNames.end();
}

bool is_of_run(std::string_view name) {
  return name == "plan" || name == "device" || name == "threads";
}

bool takes_param(const Config& given, std::string_view name) {
  if (given.has("model")) {
    return model_takes(find_model(given.text("model")), name);
  }
  if (is_common(name)) {
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

/// grid fixes seq_len; a decode step is one token unless told otherwise. `stated`: what was given and what the layout
/// decides, without the defaults of parameters.
template <class Stated>
void resolve_lengths(const Stated& stated, Config& out) {
  const auto* seq_len = std::get_if<std::int64_t>(&stated("seq_len"));
  if (const auto* text = std::get_if<std::string>(&stated("grid"))) {
    const Grid grid = parse_grid(*text);
    const auto* cls_token = std::get_if<bool>(&stated("cls_token"));
    const std::int64_t tokens = (Count(grid.height) * grid.width).value();
    const std::int64_t with_class = tokens + (cls_token != nullptr && *cls_token ? 1 : 0);
    if (seq_len != nullptr && *seq_len != with_class) {
      throw Error(ErrorKind::kInvalid,
                  fmt::format("--seq-len {} contradicts --grid {}, which has {} tokens: give one of them", *seq_len,
                              *text, with_class));
    }
    out.set("seq_len", with_class);
  } else if (seq_len == nullptr && stated("phase") == Value(std::string("decode"))) {
    out.set("seq_len", std::int64_t{1});
  }
}

} // namespace

Resolver::Resolver(const Config& given) {
  if (given.has("model")) {
    model_ = &find_model(given.text("model"));
    // Sizes are the network's own: the fallbacks of shared parameters are those of a single operator.
    for (const char* name : {"batch", "dtype", "math", "plan", "device"}) {
      defaults_.set(name, find_param(name).fallback);
    }
    for (const ParamSpec& spec : model_->own_params) {
      if (!defaults_.has(spec.name) && !std::holds_alternative<std::monostate>(spec.fallback)) {
        defaults_.set(spec.name, spec.fallback);
      }
    }
    defaults_.overlay(given);
    return;
  }
  layout_ = &layout_of(given);
  variant_ = layout_->takes_variant ? &variant_of(given) : nullptr;
  for (const ParamSpec& spec : all_params()) {
    if (!std::holds_alternative<std::monostate>(spec.fallback) && takes(spec.name)) {
      defaults_.set(spec.name, spec.fallback);
    }
  }
  stated_.set("layout", layout_->name);
  for (const auto& [name, value] : layout_->fallbacks) {
    stated_.set(name, value);
  }
  if (variant_ != nullptr) {
    stated_.set("variant", variant_->name);
  }
  defaults_.overlay(stated_);
  defaults_.overlay(given);
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

void Resolver::resolve(const Config& given, Config& out) const {
  out = defaults_;
  out.overlay(given);
  if (model_ != nullptr) {
    model_->resolve(out);
    check_product_math(out);
    return;
  }
  resolve_lengths(
      [&](std::string_view name) -> const Value& { return given.has(name) ? given.get(name) : stated_.get(name); },
      out);
  if (layout_->prepare != nullptr) {
    layout_->prepare(out);
  }
  if (variant_ != nullptr && variant_->resolve != nullptr) {
    variant_->resolve(out);
  }
  if (layout_->resolve != nullptr) {
    layout_->resolve(out);
  }
  check_product_math(out);
}

Config resolve(const Config& given) {
  const Resolver resolver(given);
  resolver.check_taken(given);
  Config out;
  resolver.resolve(given, out);
  return out;
}

namespace {

/// ':' separates the parts of an id and '%' escapes; both are rare, a path or a future name may hold them.
void append_escaped(std::string& out, std::string_view text) {
  const auto is_special = [](char c) { return c == ':' || c == '%' || c == '\n'; };
  if (std::none_of(text.begin(), text.end(), is_special)) {
    out += text;
    return;
  }
  for (const char c : text) {
    if (is_special(c)) {
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
    const fmt::format_int digits(value);
    out.append(digits.data(), digits.size());
  }
  void operator()(double value) const { append_escaped(out, to_string(value)); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(const std::string& value) const { append_escaped(out, value); }
};

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
  return CaseIds().of(resolved);
}

void CaseIds::look_up(const Config& resolved) {
  names_.clear();
  parts_.clear();
  const std::vector<ParamSpec>& all = all_params();
  for (const Config::Entry& entry : resolved.values()) {
    const std::string& name = entry.first;
    const auto spec = std::find_if(all.begin(), all.end(), [&](const ParamSpec& one) { return one.name == name; });
    if (spec != all.end()) {
      // Flags that are off are not said, nor where and how nearly everything runs.
      const bool is_usual = name == "device" || name == "math";
      const Value silent = is_usual ? spec->fallback : spec->kind == ParamKind::kFlag ? Value(false) : Value();
      parts_.push_back({static_cast<std::size_t>(spec - all.begin()), names_.size(), ':' + name + '=', silent});
    }
    names_.push_back(name);
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.place < b.place; });
  const auto is_part_of_run = [&](const Part& part) { return is_of_run(all[part.place].name); };
  first_of_run_ = static_cast<std::size_t>(std::find_if(parts_.begin(), parts_.end(), is_part_of_run) - parts_.begin());
}

const std::string& CaseIds::of(const Config& resolved) {
  const std::vector<Config::Entry>& values = resolved.values();
  const auto has_name = [](const std::string& name, const Config::Entry& entry) { return name == entry.first; };
  if (!std::equal(names_.begin(), names_.end(), values.begin(), values.end(), has_name)) {
    look_up(resolved);
  }
  id_.clear();
  append_parts(resolved, 0, first_of_run_);
  length_ = id_.size();
  append_parts(resolved, first_of_run_, parts_.size());
  return id_;
}

const std::string& CaseIds::of_other_run(const Config& resolved) {
  id_.resize(length_);
  append_parts(resolved, first_of_run_, parts_.size());
  return id_;
}

void CaseIds::append_parts(const Config& resolved, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const Part& part = parts_[i];
    const Value& value = resolved.values()[part.entry].second;
    if (!std::holds_alternative<std::monostate>(value) && value != part.silent) {
      id_.append(part.prefix, id_.empty() ? 1 : 0, std::string::npos);
      std::visit(AppendValue{id_}, value);
    }
  }
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

Graph build(const Config& resolved, Graph recycled, Detail detail) {
  GraphBuilder builder(dtype_from_name(resolved.text("dtype")), std::move(recycled), detail);
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
