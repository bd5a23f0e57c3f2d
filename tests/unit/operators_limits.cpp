// Sizes that could exhaust the machine before anything is counted end in a sentence.
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::operators;

namespace {

Error refusal_of(const std::string& id) {
  try {
    static_cast<void>(build(resolve(parse_case_id(id))));
  } catch (const Error& error) {
    return error;
  }
  FAIL("accepted: " << id);
  return Error(ErrorKind::kInternal, "");
}

bool says(const Error& error, std::string_view part) {
  return std::string_view(error.what()).find(part) != std::string_view::npos;
}

} // namespace

TEST_CASE("limits: threads end where no machine has more, in flags and in case ids") {
  const Error error = refusal_of("variant=mha:threads=100000");
  CHECK(error.kind() == ErrorKind::kUsage);
  CHECK(says(error, "--threads '100000'"));
  CHECK(says(error, "1024"));
  CHECK(std::get<std::int64_t>(parse_value(find_param("threads"), "1024")) == 1024);
}

TEST_CASE("limits: what is built block by block, head by head or tap by tap has an end") {
  CHECK(refusal_of("layout=standard:depth=1001").kind() == ErrorKind::kUsage);
  CHECK(refusal_of("layout=sandwich:variant=cga:heads=4:n_ffn=1001").kind() == ErrorKind::kUsage);
  CHECK(refusal_of("variant=cga:heads=4:kernel=65537").kind() == ErrorKind::kUsage);
  const Error heads = refusal_of("variant=cga:dim=4000000000:heads=4000000000");
  CHECK(heads.kind() == ErrorKind::kOverflow);
}

TEST_CASE("limits: tables of windows and chunks are refused before they are filled") {
  CHECK(refusal_of("variant=window:grid=1000000x1000000").kind() == ErrorKind::kOverflow);
  CHECK(refusal_of("variant=window:grid=8192x8192:window=8:shift=4").kind() == ErrorKind::kOverflow);
  const Error chunks = refusal_of("variant=flash:causal=true:chunk=1:seq_len=4000000000");
  CHECK(chunks.kind() == ErrorKind::kOverflow);
  const Error padded = refusal_of("variant=flash:chunk=3:seq_len=4000000000");
  CHECK(padded.kind() == ErrorKind::kOverflow);
}
