// The files that reports read and write, behind a seam.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace attnprof::reports {

/// Appends whole lines; each is on the disk before append returns (BUG-166).
class LineFile {
 public:
  virtual ~LineFile() = default;
  /// `line` holds no line end. Throws operators::Error(kIo).
  virtual void append(std::string_view line) = 0;
};

class Files {
 public:
  virtual ~Files() = default;
  /// Absent where the file does not exist. Throws operators::Error(kIo) where it cannot be read.
  virtual std::optional<std::string> read(const std::filesystem::path& path) = 0;
  /// The same piece by piece, so that a file of any size needs little memory. False where it does not exist.
  virtual bool read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take) {
    const std::optional<std::string> text = read(path);
    if (text) {
      take(*text);
    }
    return text.has_value();
  }
  /// Replaces the file as a whole: readers see the old or the new text, never a part. Throws operators::Error(kIo).
  virtual void write(const std::filesystem::path& path, std::string_view text) = 0;
  /// Opens for appending after the first `keep_bytes` bytes; the rest is cut off. Throws operators::Error(kIo).
  virtual std::unique_ptr<LineFile> open_lines(const std::filesystem::path& path, std::size_t keep_bytes) = 0;
  virtual bool is_directory(const std::filesystem::path& path) = 0;
  /// With its parents. Throws operators::Error(kIo).
  virtual void make_directory(const std::filesystem::path& path) = 0;
};

class DiskFiles final : public Files {
 public:
  std::optional<std::string> read(const std::filesystem::path& path) override;
  bool read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take) override;
  void write(const std::filesystem::path& path, std::string_view text) override;
  std::unique_ptr<LineFile> open_lines(const std::filesystem::path& path, std::size_t keep_bytes) override;
  bool is_directory(const std::filesystem::path& path) override;
  void make_directory(const std::filesystem::path& path) override;
};

} // namespace attnprof::reports
