#include "tests/support/temp_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace attnprof::tests {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "attnprof-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "cannot create the temporary folder " + name);
  path_ = name;
}

TempDir::~TempDir() {
  // A test may have taken the write bit away to provoke an error; without it the folder could not be emptied.
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, std::filesystem::perm_options::add, ignored);
  std::filesystem::remove_all(path_, ignored);
}

} // namespace attnprof::tests
