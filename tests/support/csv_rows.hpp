#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace attnprof::tests {

/// Rows of a comma-separated file with a head line, by column name; double quotes enclose cells with commas.
std::vector<std::map<std::string, std::string>> csv_rows(const std::filesystem::path& file);

} // namespace attnprof::tests
