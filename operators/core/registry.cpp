#include "operators/core/registry.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace attnprof::operators {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

template <class Descriptor>
std::vector<Descriptor> sorted(std::vector<Descriptor> list) {
  std::sort(list.begin(), list.end(), [](const Descriptor& a, const Descriptor& b) { return a.name < b.name; });
  return list;
}

constexpr std::size_t kMostListed = 30; // more names than that hide the sentence

template <class Descriptor>
const Descriptor& find(const std::vector<Descriptor>& list, std::string_view kind, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Descriptor& entry) { return entry.name == name; });
  if (found != list.end()) {
    return *found;
  }
  std::vector<std::string> known;
  for (const Descriptor& entry : list) {
    known.push_back(entry.name);
  }
  const std::string near = nearest_name(name, known);
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not known{}; known: {}", kind, name,
                                             near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
                                             known.empty()                ? "none"
                                             : known.size() > kMostListed ? fmt::format("see `attnprof list {}s`", kind)
                                                                          : fmt::format("{}", fmt::join(known, ", "))));
}

} // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

const std::vector<VariantDescriptor>& variants() {
  static const std::vector<VariantDescriptor> kList = sorted(registered_variants());
  return kList;
}
const std::vector<LayoutDescriptor>& layouts() {
  static const std::vector<LayoutDescriptor> kList = sorted(registered_layouts());
  return kList;
}
namespace {

std::vector<ModelDescriptor> models_where(bool is_miniature) {
  std::vector<ModelDescriptor> out = sorted(registered_models());
  std::erase_if(out, [&](const ModelDescriptor& model) { return model.is_miniature != is_miniature; });
  return out;
}

} // namespace

const std::vector<ModelDescriptor>& models() {
  static const std::vector<ModelDescriptor> kList = models_where(false);
  return kList;
}
const std::vector<ModelDescriptor>& miniature_models() {
  static const std::vector<ModelDescriptor> kList = models_where(true);
  return kList;
}

const VariantDescriptor& find_variant(std::string_view name) {
  return find(variants(), "variant", name);
}
const LayoutDescriptor& find_layout(std::string_view name) {
  return find(layouts(), "layout", name);
}
const ModelDescriptor& find_model(std::string_view name) {
  if (name.ends_with(".json")) {
    const auto reader =
        std::find_if(models().begin(), models().end(), [](const ModelDescriptor& m) { return m.reads_config_files; });
    if (reader != models().end()) {
      return *reader;
    }
  }
  const auto miniature = std::find_if(miniature_models().begin(), miniature_models().end(),
                                      [&](const ModelDescriptor& m) { return m.name == name; });
  return miniature != miniature_models().end() ? *miniature : find(models(), "model", name);
}

} // namespace attnprof::operators
