// The parts of the documents that are made from tables in the code.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::tests::lint {

struct DocumentPart {
  std::string file; ///< from the repository root
  std::string name; ///< the table between "<!-- table: NAME -->" and "<!-- end of table -->"; empty: the whole file
  std::string text; ///< what must stand there
};

/// All such parts, made from the code of this build.
std::vector<DocumentPart> generated_parts();

/// A Markdown table; a '|' inside a cell is escaped.
std::string markdown_table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);

/// The text of one table of a document, nullopt where its marks are absent.
std::optional<std::string> table_in(std::string_view document, const std::string& name);

/// The document with the table replaced. Throws std::runtime_error where its marks are absent.
std::string with_table(std::string_view document, const std::string& name, std::string_view table);

} // namespace attnprof::tests::lint
