// Sizes that could exhaust the machine before anything is counted end in a sentence.
#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/core/io.hpp"
#include "operators/exec/fill.hpp"
#include "operators/layers/windows.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

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

TEST_CASE("limits: tables that are too long to be kept are counted, and refused where their values are needed") {
  for (const char* id : {"variant=window:grid=10000x10000", "variant=window:grid=8192x8192:window=8:shift=4",
                         "variant=flash:seq_len=100000001", "variant=flash:chunk=3:seq_len=100000001"}) {
    INFO(id);
    const Graph graph = build(resolve(parse_case_id(id)));
    CHECK(cost_of(graph).totals.work.macs.value() > 0);
    std::size_t refused = 0;
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.fill == Fill::kValues && !tensor.values) {
        CHECK_THROWS_AS(fill_values(tensor, 1), Error);
        ++refused;
      }
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("limits: a list of rows names as many as it can, token ids aside, so that a long one is counted alike") {
  const std::string experts = "model=" + (attnprof::tests::test_files_dir() / "decoders" / "qwen2_moe.json").string();
  std::size_t lists = 0;
  for (const std::string& id :
       {std::string("variant=window:grid=9x11:window=4:shift=2"), std::string("variant=cga_window:grid=9x9:heads=4"),
        std::string("variant=flash:chunk=8:seq_len=13"), experts + ":seq_len=3", experts + ":seq_len=1",
        experts + ":seq_len=5:batch=3"}) {
    Graph graph = build(resolve(parse_case_id(id)));
    for (Op& op : graph.ops) {
      Gather* gather = std::get_if<Gather>(&op.primitive);
      if (gather == nullptr || op.scope.find("embedding") != std::string::npos) {
        continue;
      }
      INFO(id << " " << op.scope);
      const Bytes exact = bytes_of(graph, op);
      gather->indices = nullptr;
      CHECK(bytes_of(graph, op).read == exact.read);
      ++lists;
    }
  }
  CHECK(lists >= 15);
}

TEST_CASE("limits: real pairs of shifted windows are those of a count by hand") {
  // 5 x 3 tokens in windows of 4, padded to 8 x 4: token t of the rolled map stands in row t / 4 and column t % 4.
  for (const std::int64_t shift : {0, 1, 2, 3}) {
    const Windows w{2, 5, 3, 4, shift};
    std::int64_t pairs = 0;
    const auto strip = [&](std::int64_t at, std::int64_t padded) {
      return shift == 0 || at < padded - 4 ? 0 : at < padded - shift ? 1 : 2;
    };
    for (std::int64_t a = 0; a < 32; ++a) {
      for (std::int64_t b = 0; b < 32; ++b) {
        const auto real = [&](std::int64_t t) { return (t / 4 + shift) % 8 < 5 && (t % 4 + shift) % 4 < 3; };
        const bool same = a / 16 == b / 16 && strip(a / 4, 8) == strip(b / 4, 8) && strip(a % 4, 4) == strip(b % 4, 4);
        pairs += same && real(a) && real(b) ? 2 : 0;
      }
    }
    CHECK(real_window_pairs(w) == pairs);
  }
}
