#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/presets/preset.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/hardware.hpp"
#include "reports/record_json.hpp"
#include "reports/schema.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using reports::Json;

Json json_of(const operators::ParamSpec& spec) {
  Json out{{"name", spec.name}, {"flag", spec.flag()}, {"help", spec.help}};
  const std::string fallback = operators::to_string(spec.fallback);
  out["default"] = fallback.empty() ? Json() : Json(fallback);
  if (!spec.choices.empty()) {
    out["choices"] = spec.choices;
  }
  return out;
}

/// `config` names a workload; the parameters are those that it takes beside the choice of the workload itself.
Json params_of(const operators::Config& config) {
  Json out = Json::array();
  for (const operators::ParamSpec& spec : operators::all_params()) {
    if (!operators::names_workload(spec.name) && operators::takes_param(config, spec.name)) {
      out.push_back(json_of(spec));
    }
  }
  return out;
}

template <class Descriptors>
Json descriptors(const Descriptors& all, const char* parameter) {
  Json out = Json::array();
  for (const auto& one : all) {
    operators::Config config;
    config.set(parameter, one.name);
    out.push_back(
        {{"name", one.name}, {"summary", one.summary}, {"source", one.source}, {"params", params_of(config)}});
  }
  return out;
}

/// Without a default branch: a new primitive does not compile before it has a line here.
std::string summary_of(const operators::Primitive& primitive) {
  using namespace operators;
  return std::visit(
      Overloaded{[](const MatMul&) { return "matrix product, with masks and an epilogue"; },
                 [](const Softmax&) { return "softmax over the last dimension"; },
                 [](const Attention&) { return "fused attention core, tile by tile with a running softmax"; },
                 [](const Pointwise&) { return "chain of element-wise steps in one pass"; },
                 [](const LayerNorm&) { return "layer norm or RMS norm over the last dimension"; },
                 [](const Conv2d&) { return "dense or grouped convolution, channels last"; },
                 [](const Pool&) { return "average pooling over the taps inside the map"; },
                 [](const Reduce&) { return "sum or mean over tokens"; },
                 [](const ChannelConv1d&) { return "convolution along the channels, the gate of channel attention"; },
                 [](const CumSum&) { return "exclusive prefix sum over chunks"; },
                 [](const Gather&) { return "rows in another order: rolls, pads, crops, position bias"; },
                 [](const DepthwiseConv2d&) { return "depthwise convolution, channels last"; },
                 [](const Copy&) { return "data movement: head split and merge, gather, scatter"; },
                 [](const Rope&) { return "rotary position embedding"; }},
      primitive);
}

template <std::size_t... I>
Json primitives(std::index_sequence<I...> /*alternatives*/) {
  Json out = Json::array();
  const auto add = [&](const operators::Primitive& primitive) {
    out.push_back({{"name", operators::name_of(primitive)}, {"summary", summary_of(primitive)}});
  };
  (add(operators::Primitive(std::in_place_index<I>)), ...);
  return out;
}

Json counters() {
  Json out = Json::array();
  for (const reports::CaseColumn& column : reports::case_columns()) {
    if (column.spec.origin == reports::Origin::kCounter && column.spec.type != reports::Type::kText) {
      out.push_back({{"name", column.spec.name}, {"summary", column.spec.definition}, {"unit", column.spec.unit}});
    }
  }
  return out;
}

Json hardware() {
  Json out = Json::array();
  for (const reports::Hardware& one : reports::known_hardware()) {
    Json figures = Json::array();
    for (const reports::StatedFigure& figure : one.figures) {
      figures.push_back({{"what", figure.what}, {"per_s", figure.per_s}, {"source", figure.source}});
    }
    out.push_back({{"name", one.name}, {"summary", one.summary}, {"source", one.source}, {"figures", figures}});
  }
  return out;
}

Json preset_list() {
  Json out = Json::array();
  for (const Preset& one : presets()) {
    out.push_back({{"name", one.name}, {"summary", one.summary}, {"source", one.source}});
  }
  return out;
}

struct Section {
  std::string name;
  std::string title;
  Json (*entries)(Context& context);
};

const std::vector<Section>& sections() {
  static const std::vector<Section> kSections = {
      {"variants", "attention variants (--variant)",
       [](Context&) { return descriptors(operators::variants(), "variant"); }},
      {"layouts", "block layouts (--layout)", [](Context&) { return descriptors(operators::layouts(), "layout"); }},
      {"models", "whole networks (--model), beside any config.json of Hugging Face",
       [](Context&) { return descriptors(operators::models(), "model"); }},
      {"ops", "primitive operations that every workload is made of",
       [](Context&) { return primitives(std::make_index_sequence<std::variant_size_v<operators::Primitive>>()); }},
      {"counters", "columns that counters of the processor or the system fill (attnprof doctor says which work here)",
       [](Context&) { return counters(); }},
      {"hardware", "data sheets for --hw, beside the measured ceilings of this machine",
       [](Context&) { return hardware(); }},
      {"presets", "comparisons that papers make (compare --preset)", [](Context&) { return preset_list(); }},
  };
  return kSections;
}

const Section& find_section(const std::string& name) {
  std::vector<std::string> known;
  for (const Section& section : sections()) {
    if (section.name == name) {
      return section;
    }
    known.push_back(section.name);
  }
  const std::string near = operators::nearest_name(name, known);
  throw Error(ErrorKind::kUsage,
              fmt::format("there is no list of '{}'{}; there are {}", name,
                          near.empty() ? "" : fmt::format(", did you mean '{}'?", near), fmt::join(known, ", ")));
}

void print_table(const Section& section, const Json& entries, std::ostream& out) {
  out << section.title << ":\n";
  std::size_t width = 0;
  for (const Json& entry : entries) {
    width = std::max(width, entry.at("name").get_ref<const std::string&>().size());
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Json& entry = entries[i];
    const std::string source = entry.value("source", "");
    out << fmt::format("  {:{}}  {}\n", entry.at("name").get<std::string>(), width,
                       entry.at("summary").get<std::string>());
    // Sizes of one network share a source: it stands once, under the last of them.
    if (!source.empty() && (i + 1 == entries.size() || entries[i + 1].value("source", "") != source)) {
      out << fmt::format("  {:{}}  source: {}\n", "", width, source);
    }
  }
  if (entries.empty()) {
    out << "  none in this build\n";
  }
}

int list(const Arguments& arguments, Context& context) {
  std::vector<const Section*> chosen;
  for (const std::string& name : arguments.positionals()) {
    chosen.push_back(&find_section(name));
  }
  if (chosen.empty()) {
    for (const Section& section : sections()) {
      chosen.push_back(&section);
    }
  }
  Json document = Json::object();
  for (const Section* section : chosen) {
    const Json entries = section->entries(context);
    if (!arguments.given("--json")) {
      context.out << (section == chosen.front() ? "" : "\n");
      print_table(*section, entries, context.out);
    }
    document[section->name] = entries;
  }
  if (arguments.given("--json")) {
    // One list is an array, several are an object of arrays.
    context.out << reports::json_text(chosen.size() == 1 ? document[chosen.front()->name] : document, 1) << '\n';
  }
  return 0;
}

} // namespace

Command list_command() {
  Command out;
  out.name = "list";
  out.summary = "what can be measured: variants, layouts, models, primitive ops, counters and machines";
  out.usage = "[variants|layouts|models|ops|counters|hardware|presets] [--json]";
  out.positional = "list";
  out.options = {{"--json", "", "", "names, summaries, sources and parameters as JSON", OptionGroup::kOutput}};
  out.examples = {"list variants", "list layouts --json"};
  out.run = list;
  return out;
}

} // namespace attnprof::cli
