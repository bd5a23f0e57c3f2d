#include "operators/core/error.hpp"
#include "profilers/record.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>

using namespace attnprof::profilers;

TEST_CASE("every status has a name that leads back to it") {
  std::set<std::string> names;
  for (const auto status :
       {Status::kOk, Status::kSkipped, Status::kUnsupported, Status::kInvalid, Status::kIncorrect, Status::kFailed}) {
    CHECK(status_from_name(name_of(status)) == status);
    names.insert(std::string(name_of(status)));
  }
  CHECK(names == std::set<std::string>{"ok", "skipped", "unsupported", "invalid", "incorrect", "failed"});
}

TEST_CASE("an unknown status is refused with the known ones") {
  for (const char* name : {"", "OK", "fine"}) {
    try {
      status_from_name(name);
      FAIL("accepted " << name);
    } catch (const attnprof::operators::Error& error) {
      CHECK(error.kind() == attnprof::operators::ErrorKind::kUsage);
      CHECK(std::string(error.what()).find("unsupported") != std::string::npos);
    }
  }
}
