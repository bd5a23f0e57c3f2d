#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::tests::lint {

struct SourceFile {
  std::string path; ///< from the repository root, with '/'
  std::string text;
};

/// The project's own files: everything under its folders and the files beside them, build output left out.
std::vector<SourceFile> read_source_tree(const std::filesystem::path& root);

/// A rule looks at files and returns one sentence for each breach, "path:line: what is wrong"; empty when all is well.
using Breaches = std::vector<std::string>;

/// Dependencies go one way: operators <- profilers <- reports <- cli; operators/core uses only itself, the standard
/// library, fmt and nlohmann-json; project headers are included by their path from the repository root.
Breaches check_includes(const std::vector<SourceFile>& files);

/// No source file, script or CMake file is over `limit_lines`.
Breaches check_file_lengths(const std::vector<SourceFile>& files, std::size_t limit_lines);

/// No folder whose name says nothing about its content: common, utils, helpers.
Breaches check_folder_names(const std::vector<SourceFile>& files);

/// No path of one particular machine.
Breaches check_machine_paths(const std::vector<SourceFile>& files);

/// Every header guards itself with #pragma once, as its first line that is no comment.
Breaches check_pragma_once(const std::vector<SourceFile>& files);

/// No identifier in a header contains a word that the project's vocabulary rules out (`case_info`, `BufferManager`).
/// Members of the standard library, reached by `.`, `->` or `std::`, may, and so may macros.
Breaches check_vocabulary(const std::vector<SourceFile>& files);

/// Every file in operators/variants and operators/layouts has an oracle: tests/oracle/NAME.cpp or NAME_test.cpp.
Breaches check_oracles(const std::vector<SourceFile>& files);

/// C++ source with comments and the content of string and character literals blanked out, line breaks kept.
std::string code_only(std::string_view source);

} // namespace attnprof::tests::lint
