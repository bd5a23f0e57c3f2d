#include "cli/app.hpp"

#include "attnprof_version.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

int exit_code_of(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::kUsage:
  case ErrorKind::kInvalid:
  case ErrorKind::kOverflow:
  case ErrorKind::kIo: return kExitUsage;
  case ErrorKind::kUnsupported:
  case ErrorKind::kUnavailable: return kExitUnavailable;
  case ErrorKind::kMemory:
  case ErrorKind::kDeviceLost: return kExitRowFailed;
  case ErrorKind::kInternal: return kExitInternal;
  }
  return kExitInternal;
}

/// Further lines, such as a caret under an expression, keep their place under the first.
void print_error(std::ostream& err, std::string_view sentence) {
  constexpr std::string_view kPrefix = "attnprof: ";
  err << kPrefix;
  for (const char c : sentence) {
    err << c;
    if (c == '\n') {
      err << std::string(kPrefix.size(), ' ');
    }
  }
  err << '\n';
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands()) {
    if (command.name == name) {
      return command;
    }
    known.push_back(command.name);
  }
  if (name.starts_with("-")) {
    throw Error(ErrorKind::kUsage, fmt::format("{} needs a command in front, such as attnprof sweep {}", name, name));
  }
  const std::string near = operators::nearest_name(name, known);
  throw Error(ErrorKind::kUsage,
              fmt::format("'{}' is not a command{}; there are {}", name,
                          near.empty() ? "" : fmt::format(", did you mean '{}'?", near), fmt::join(known, ", ")));
}

int dispatch(std::span<const std::string> args, Context& context) {
  if (args.empty()) {
    throw Error(ErrorKind::kUsage, "give a command, such as `attnprof sweep`; attnprof --help lists them");
  }
  const std::string& first = args.front();
  if (first == "--version") {
    context.out << fmt::format("attnprof {} (commit {}, {} build, {})\n", kVersion, kCommit, kBuildType, kCompiler);
    return kExitOk;
  }
  const bool asks_help = first == "--help" || first == "-h" || first == "help";
  if (asks_help && args.size() == 1) {
    context.out << help_text(commands());
    return kExitOk;
  }
  if (asks_help) {
    context.out << help_text(find_command(args[1]));
    return kExitOk;
  }
  const Command& command = find_command(first);
  const ParsedCommand parsed = parse_command(command, {args.begin() + 1, args.end()});
  if (parsed.help) {
    context.out << help_text(command);
    return kExitOk;
  }
  return command.run(parsed.arguments, context);
}

} // namespace

int run(std::span<const std::string> args, std::ostream& out, std::ostream& err, Seams& seams) {
  Context context{out, err, seams};
  try {
    return dispatch(args, context);
  } catch (const Error& error) {
    print_error(err, error.what());
    return exit_code_of(error.kind());
  } catch (const std::bad_alloc&) {
    print_error(err, "the system has no more memory for this; use smaller sizes or fewer cases");
    return kExitRowFailed;
  } catch (const std::exception& error) {
    print_error(err, fmt::format("internal error: {}; please report it with the command line", error.what()));
    return kExitInternal;
  }
}

} // namespace attnprof::cli
