#include "reports/files.hpp"

#include "operators/core/error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace attnprof::reports {
namespace {

using operators::Error;
using operators::ErrorKind;

[[noreturn]] void reject(std::string_view action, const std::filesystem::path& path, int number) {
  throw Error(ErrorKind::kIo,
              fmt::format("cannot {} {}: {}", action, path.string(), std::generic_category().message(number)));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      reject("write", path, errno);
    }
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
}

/// Pipes and terminals cannot be flushed to a disk, which is no fault.
void flush_to_disk(int descriptor, const std::filesystem::path& path) {
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
    reject("flush", path, errno);
  }
}

class DiskLines final : public LineFile {
 public:
  DiskLines(const std::filesystem::path& path, std::size_t keep_bytes)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_.get() < 0) {
      reject("write", path, errno);
    }
    const auto length = static_cast<off_t>(keep_bytes);
    if (::ftruncate(file_.get(), length) != 0 || ::lseek(file_.get(), length, SEEK_SET) != length) {
      reject("write", path, errno);
    }
  }
  void append(std::string_view line) override {
    // One write, so that another reader sees the whole line or a torn tail, never a gap.
    write_all(file_.get(), std::string(line) + '\n', path_);
    flush_to_disk(file_.get(), path_);
  }

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

} // namespace

std::optional<std::string> DiskFiles::read(const std::filesystem::path& path) {
  std::error_code fault;
  std::string text;
  if (const auto size = std::filesystem::file_size(path, fault); !fault) {
    text.reserve(size);
  }
  return read_pieces(path, [&](std::string_view piece) { text += piece; }) ? std::optional(std::move(text))
                                                                           : std::nullopt;
}

bool DiskFiles::read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take) {
  std::error_code fault;
  if (!std::filesystem::exists(path, fault) && !fault) {
    return false;
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, fault)) {
    reject("read", path, fault ? fault.value() : (std::filesystem::is_directory(path, fault) ? EISDIR : EACCES));
  }
  // In blocks: character by character takes longer than parsing does, and a pipe has no size to read at once.
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  const auto block = std::make_unique<char[]>(kBlock);
  while (stream) {
    stream.read(block.get(), static_cast<std::streamsize>(kBlock));
    take({block.get(), static_cast<std::size_t>(stream.gcount())});
  }
  if (stream.bad()) {
    reject("read", path, EIO);
  }
  return true;
}

void DiskFiles::write(const std::filesystem::path& path, std::string_view text) {
  std::error_code fault;
  const auto kind = std::filesystem::status(path, fault).type();
  // A device or a pipe (/dev/stdout) is written to, not replaced.
  const bool in_place = kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular;
  std::filesystem::path target = path;
  if (!in_place) {
    target += fmt::format(".tmp{}", ::getpid());
  }
  {
    const Descriptor file(::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) {
      reject("write", path, errno);
    }
    write_all(file.get(), text, path);
    flush_to_disk(file.get(), path);
  }
  if (!in_place) {
    std::filesystem::rename(target, path, fault);
    if (fault) {
      std::error_code ignored;
      std::filesystem::remove(target, ignored);
      reject("write", path, fault.value());
    }
  }
}

std::unique_ptr<LineFile> DiskFiles::open_lines(const std::filesystem::path& path, std::size_t keep_bytes) {
  return std::make_unique<DiskLines>(path, keep_bytes);
}

bool DiskFiles::is_directory(const std::filesystem::path& path) {
  std::error_code fault;
  return std::filesystem::is_directory(path, fault);
}

void DiskFiles::make_directory(const std::filesystem::path& path) {
  std::error_code fault;
  std::filesystem::create_directories(path, fault);
  if (fault || !std::filesystem::is_directory(path)) {
    reject("create the folder", path, fault ? fault.value() : ENOTDIR);
  }
}

} // namespace attnprof::reports
