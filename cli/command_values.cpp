#include "cli/command_values.hpp"

#include "operators/core/registry.hpp"
#include "operators/workload.hpp"
#include "reports/schema.hpp"

#include <algorithm>
#include <sstream>

namespace attnprof::cli {
namespace {

template <class Descriptors>
std::vector<std::string> names_of(const Descriptors& descriptors) {
  std::vector<std::string> out;
  for (const auto& descriptor : descriptors) {
    out.push_back(descriptor.name);
  }
  return out;
}

/// "warm|cold|cold-kv" in the help of a flag lists its values.
std::vector<std::string> listed(const std::string& help) {
  const std::size_t first = help.find('|');
  if (first == std::string::npos) {
    return {};
  }
  const std::size_t before = help.rfind(' ', first);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::istringstream words(help.substr(begin, help.find(' ', first) - begin));
  std::vector<std::string> out;
  for (std::string word; std::getline(words, word, '|');) {
    std::erase_if(word, [](char c) { return c == '[' || c == ']' || c == '(' || c == ')' || c == ','; });
    if (!word.empty()) {
      out.push_back(word);
    }
  }
  return out;
}

} // namespace

ValueChoices choices_of(const OptionSpec& option) {
  if (option.group == OptionGroup::kWorkload) {
    if (option.name == "--variant") {
      return {names_of(operators::variants()), false};
    }
    if (option.name == "--layout") {
      return {names_of(operators::layouts()), false};
    }
    for (const operators::ParamSpec& spec : operators::all_params()) {
      if (spec.flag() == option.name) {
        return {spec.kind == operators::ParamKind::kFlag ? std::vector<std::string>{"true", "false"} : spec.choices,
                option.name == "--model"};
      }
    }
  }
  if (option.name == "--metric") {
    std::vector<std::string> names;
    for (const reports::CaseColumn& column : reports::case_columns()) {
      if (column.spec.type == reports::Type::kInteger || column.spec.type == reports::Type::kReal) {
        names.push_back(column.spec.name);
      }
    }
    return {names, false};
  }
  const bool is_path = option.value == "FILE" || option.value == "DIR" || option.value == "RUN";
  return {is_path ? std::vector<std::string>() : listed(option.help), is_path};
}

ValueChoices positional_choices(const Command& command) {
  if (command.positional.empty()) {
    return {};
  }
  if (command.positional == "metric") {
    std::vector<std::string> names;
    for (const reports::CaseColumn& column : reports::case_columns()) {
      names.push_back(column.spec.name);
    }
    return {names, false};
  }
  const std::vector<std::string> names = listed(command.usage);
  const bool is_set = !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
  return {is_set ? names : std::vector<std::string>(), !is_set};
}

} // namespace attnprof::cli
