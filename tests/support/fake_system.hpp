// A made-up /proc and /sys below a temporary folder, removed with the object.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace attnprof::tests {

class FakeSystem {
 public:
  FakeSystem() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attnprof-system-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~FakeSystem() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    const auto full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text << '\n';
  }
  void cpu(int cpu, const std::string& path, const std::string& text) const {
    write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + path, text);
  }
  void cache(int cpu, int index, int level, const std::string& type, const std::string& size,
             const std::string& shared) const {
    const std::string folder = "cache/index" + std::to_string(index) + "/";
    this->cpu(cpu, folder + "level", std::to_string(level));
    this->cpu(cpu, folder + "type", type);
    this->cpu(cpu, folder + "size", size);
    this->cpu(cpu, folder + "coherency_line_size", "64");
    this->cpu(cpu, folder + "shared_cpu_list", shared);
  }

 private:
  std::filesystem::path root_;
};

} // namespace attnprof::tests
