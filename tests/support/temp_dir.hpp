#pragma once
#include <filesystem>

namespace attnprof::tests {

/// A new empty folder under the system's temporary folder; it and all in it are deleted with the object.
class TempDir {
 public:
  /// Throws std::system_error when no folder can be created.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

} // namespace attnprof::tests
