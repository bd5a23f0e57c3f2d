// Views, masks, counts, parameters and case ids, each against a brute-force second way.
#include "operators/core/cost.hpp"
#include "operators/core/fuse_copies.hpp"
#include "operators/core/plan.hpp"
#include "operators/core/product_math.hpp"
#include "operators/core/uses.hpp"
#include "operators/exec/fill.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <random>

using namespace attnprof::operators;

TEST_CASE("attended pairs in closed form equal enumeration") {
  for (const Mask mask : {Mask{}, Mask{true, 0}, Mask{true, 1}, Mask{true, 3}, Mask{true, 50}, Mask{false, 4}}) {
    for (std::int64_t n_q = 1; n_q < 12; ++n_q) {
      for (std::int64_t n_k = 1; n_k < 14; ++n_k) {
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < n_q; ++i) {
          for (std::int64_t j = 0; j < n_k; ++j) {
            pairs += mask.attends(i, j, n_q, n_k) ? 1 : 0;
          }
        }
        REQUIRE(attended_pairs(mask, n_q, n_k) == pairs);
      }
    }
  }
}

TEST_CASE("visited key tiles hold every attended key and skip the empty ones") {
  for (const Mask mask : {Mask{}, Mask{true, 0}, Mask{true, 3}}) {
    for (const Tiles tiles : {Tiles{1, 1}, Tiles{3, 4}, Tiles{64, 64}}) {
      for (const auto& [n_q, n_k] : {std::pair{7L, 11L}, std::pair{11L, 7L}, std::pair{9L, 9L}}) {
        for (std::int64_t row = 0; row < n_q; row += tiles.queries) {
          const std::int64_t rows = std::min(tiles.queries, n_q - row);
          const KeyRange keys = visited_keys(mask, tiles, row, rows, n_q, n_k);
          for (std::int64_t j = 0; j < n_k; ++j) {
            bool attended = false; // by a row of the query tile, some key of j's key tile
            for (std::int64_t i = row; i < row + rows; ++i) {
              for (std::int64_t k = j / tiles.keys * tiles.keys; k < std::min(n_k, (j / tiles.keys + 1) * tiles.keys);
                   ++k) {
                attended = attended || mask.attends(i, k, n_q, n_k);
              }
            }
            REQUIRE((j >= keys.begin && j < keys.end) == attended);
          }
        }
      }
    }
  }
}

TEST_CASE("counts refuse to wrap") {
  const Count big = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_WITH(big + 1, Catch::Contains("64-bit") && Catch::Contains("9223372036854775807"));
  CHECK_THROWS_WITH(big * 2, Catch::Contains("overflow"));
  CHECK_THROWS_AS(Count(std::numeric_limits<std::int64_t>::min()) - 1, Error);
}

TEST_CASE("views split, merge, transpose, slice and broadcast address the elements they name") {
  const View x = dense_view(0, {2, 6, 4});
  const View heads = x.split(2, 2, 2).transpose(1, 2); // [2, 2, 6, 2]
  CHECK(heads.shape() == "2x2x6x2");
  std::vector<std::int64_t> addresses;
  for_each_address(heads.select(0, 1).select(0, 1).slice(0, 2, 2), [&](std::int64_t a) { addresses.push_back(a); });
  CHECK(addresses == std::vector<std::int64_t>{34, 35, 38, 39});
  CHECK_FALSE(heads.contiguous());
  CHECK_FALSE(heads.mergeable(1));
  CHECK_THROWS_AS(heads.merge(1), Error);
  CHECK_THROWS_AS(x.slice(1, 4, 3), Error);
  const View repeated = x.broadcast(1, 5);
  CHECK(repeated.elements() == 240);
  CHECK(repeated.distinct_elements() == 48);
}

TEST_CASE("a list with its first entries in place grows past them and shrinks again") {
  InlineList<int, 3> list;
  std::vector<int> expected;
  const auto holds = [&] { return std::vector<int>(list.begin(), list.end()) == expected; };
  for (const int value : {1, 2, 1, 3, 1, 4}) {
    list.push_back(value);
    expected.push_back(value);
    CHECK(holds());
  }
  for (const int value : {7, 3, 1, 4}) {
    list.erase(value);
    std::erase(expected, value);
    CHECK(holds());
  }
  list.push_back(5);
  CHECK(list.size() == 2);
  CHECK(list[1] == 5);
  list.clear();
  CHECK(list.empty());
}

TEST_CASE("a configuration keeps values by name, sorted, however they came") {
  std::mt19937 random(3);
  for (const int names : {5, 40, 400}) { // files may hold any number
    const auto name = [&] {
      return std::string(1, static_cast<char>('a' + random() % 3)) +
             std::to_string(random() % static_cast<unsigned>(names));
    };
    Config config;
    std::map<std::string, Value> expected;
    for (int round = 0; round < 4 * names; ++round) {
      Config given;
      switch (random() % 4) {
      case 0:
        for (int i = 0; i < 3; ++i) {
          given.set(name(), random() % 3 == 0 ? Value() : Value(static_cast<std::int64_t>(random() % 9)));
        }
        config.overlay(given);
        for (const auto& [key, value] : given.values()) {
          if (!std::holds_alternative<std::monostate>(value) || !expected.contains(key)) {
            expected[key] = value;
          }
        }
        break;
      case 1: {
        const std::string key = name();
        config.erase(key);
        expected.erase(key);
        break;
      }
      default: {
        const std::string key = name();
        const Value value = static_cast<std::int64_t>(random() % 9);
        config.set(key, value);
        expected[key] = value;
      }
      }
      const std::vector<Config::Entry> sorted(expected.begin(), expected.end());
      REQUIRE(config.values() == sorted);
      const std::string key = name();
      REQUIRE(config.get(key) == (expected.contains(key) ? expected[key] : Value()));
    }
    for (const auto& [key, value] : expected) {
      CHECK(config.get(key) == value);
    }
    CHECK_FALSE(config.has(""));
    const Config taken = std::move(config);
    CHECK(taken.values() == std::vector<Config::Entry>(expected.begin(), expected.end()));
    for (const auto& [key, value] : expected) { // what was moved from is empty and may be used again
      CHECK_FALSE(config.has(key));
      config.set(key, value);
      CHECK(config.get(key) == value);
    }
    CHECK(config == taken);
  }
}

TEST_CASE("uses follow ops that are rewritten, merged and erased") {
  // x -> relu -> a, a -> square -> b, a + b -> y
  Graph graph;
  for (int i = 0; i < 4; ++i) {
    graph.tensors.emplace_back();
  }
  const auto view = [](TensorId id) { return dense_view(id, {2, 3}); };
  graph.ops.push_back({"relu", Pointwise{view(0), view(1), {{StepFn::kRelu, 0.0, {}, {}}}}});
  graph.ops.push_back({"square", Pointwise{view(1), view(2), {{StepFn::kSquare, 0.0, {}, {}}}}});
  graph.ops.push_back({"add", Pointwise{view(1), view(3), {{StepFn::kAdd, 0.0, view(2), {}}}}});
  Rewriting ops(graph);
  const auto of = [](const OpIndices& list) { return std::vector<std::size_t>(list.begin(), list.end()); };
  CHECK(of(ops.uses().readers(1)) == std::vector<std::size_t>{1, 2});
  ops.rewrite(2, [&](Op& op) { std::get<Pointwise>(op.primitive).x = view(2); });
  CHECK(of(ops.uses().readers(1)) == std::vector<std::size_t>{1});
  CHECK(of(ops.uses().readers(2)) == std::vector<std::size_t>{2, 2});
  ops.merge(0, 1, [&](Op& from, Op& into) {
    std::get<Pointwise>(from.primitive).y = view(2);
    into = std::move(from);
  });
  CHECK(ops.erased(0));
  CHECK(of(ops.uses().readers(0)) == std::vector<std::size_t>{1});
  CHECK(ops.uses().writers(1).empty());
  CHECK(of(ops.uses().writers(2)) == std::vector<std::size_t>{1});
  ops.finish();
  REQUIRE(graph.ops.size() == 2);
  CHECK(graph.ops[0].scope == "relu");
  CHECK(graph.ops[1].scope == "add");
}

TEST_CASE("remap follows a copy element by element or refuses") {
  // The copy: heads split and transposed out of [2, 3, 8] (tensor 0) into a dense [2, 4, 3, 2] (tensor 1).
  const View source = dense_view(0, {2, 3, 8}).split(2, 4, 2).transpose(1, 2);
  const View target = dense_view(1, {2, 4, 3, 2});
  std::vector<std::int64_t> source_of(48);
  std::vector<std::int64_t> from;
  for_each_address(source, [&](std::int64_t a) { from.push_back(a); });
  std::size_t next = 0;
  for_each_address(target, [&](std::int64_t a) { source_of[static_cast<std::size_t>(a)] = from[next++]; });
  for (const View& view : {target, target.transpose(2, 3), target.select(1, 2), target.slice(2, 1, 2),
                           target.split(1, 2, 2), target.select(0, 1).slice(0, 1, 2).broadcast(1, 3)}) {
    const std::optional<View> mapped = remap(view, target, source);
    REQUIRE(mapped.has_value());
    std::vector<std::int64_t> expected;
    for_each_address(view, [&](std::int64_t a) { expected.push_back(source_of[static_cast<std::size_t>(a)]); });
    std::vector<std::int64_t> got;
    for_each_address(*mapped, [&](std::int64_t a) { got.push_back(a); });
    CHECK(got == expected);
  }
  // Heads and tokens merged into one dimension lie apart in the source.
  CHECK_FALSE(remap(target.merge(1), target, source).has_value());
}

TEST_CASE("values are parsed with their range, and refused with the flag and the text") {
  const ParamSpec& seq_len = shared_param("seq_len");
  CHECK(std::get<std::int64_t>(parse_value(seq_len, "4k")) == 4096);
  for (const char* text :
       {"0", "-5", "12abc", "", "k", "1.5", "99999999999999999999", "9223372036854775808", "9007199254740993k"}) {
    CHECK_THROWS_WITH(parse_value(seq_len, text), Catch::Contains("--seq-len") && Catch::Contains(text));
  }
  CHECK_THROWS_WITH(parse_value(shared_param("kernel"), "x"), Catch::Contains("--kernel"));
  CHECK_THROWS_WITH(parse_value(shared_param("dtype"), "f64"), Catch::Contains("f32, bf16, f16"));
  CHECK_THROWS_WITH(parse_value(shared_param("grid"), "14"), Catch::Contains("14x14"));
  CHECK(std::get<std::string>(parse_value(shared_param("grid"), "7x9")) == "7x9");
  for (const char* text : {"nan", "inf", "0", "-1", "1e9", "2,5"}) {
    CHECK_THROWS_AS(parse_value(shared_param("mlp_ratio"), text), Error);
  }
}

TEST_CASE("a case id reads back as the same configuration") {
  for (const char* id : {"variant=mha", "variant=gqa:heads=8:dim=64:phase=decode:past_len=100:causal=true",
                         "layout=sandwich:variant=cga:heads=4", "layout=ffn:ffn=swiglu:dim=32",
                         "layout=standard:depth=3:dtype=bf16:plan=fused:threads=2:device=cuda"}) {
    const Config config = resolve(parse_case_id(id));
    const std::string canonical = case_id(config);
    CHECK(resolve(parse_case_id(canonical)) == config);
    CHECK(case_id(resolve(parse_case_id(canonical))) == canonical);
  }
  CHECK(case_id(resolve(parse_case_id("variant=mha:head_dim=64"))) ==
        case_id(resolve(parse_case_id("variant=mha:qk_dim=64"))));
  CHECK_THROWS_WITH(parse_case_id("variant=mha:seq_lem=5"), Catch::Contains("seq_len"));
  CHECK_THROWS_WITH(parse_case_id("variant=mha:variant=gqa"), Catch::Contains("twice"));
  CHECK_THROWS_WITH(parse_case_id("mha"), Catch::Contains("name=value"));
}

TEST_CASE("the bytes that a launch reads are told apart by what holds them") {
  const auto read_by = [](const char* id, const char* leaf) {
    const Config config = resolve(parse_case_id(id));
    const Cost cost = cost_of(plan_launches(build(config), config.text("plan")));
    Bytes sum;
    for (const LaunchCost& launch : cost.launches) {
      if (launch.scope.ends_with(leaf)) {
        sum.read += launch.bytes.read;
        sum.weights_read += launch.bytes.weights_read;
        sum.cache_read += launch.bytes.cache_read;
      }
    }
    return sum;
  };
  const Bytes q_proj = read_by("variant=mha:dim=64:heads=4:seq_len=5", "q_proj");
  CHECK(q_proj.weights_read == 64 * 64 * 4);
  CHECK(q_proj.read == (64 * 64 + 5 * 64) * 4);
  CHECK(q_proj.cache_read == 0);
  const Bytes core = read_by("variant=mha:dim=64:heads=4:phase=decode:seq_len=1:past_len=9:plan=fused", "attention");
  CHECK(core.weights_read == 0);
  CHECK(core.cache_read == 2 * 10 * 64 * 4); // keys and values of 10 tokens
  CHECK(core.read == (2 * 10 + 1) * 64 * 4);
}

TEST_CASE("contradictions are refused with both values") {
  const auto reject = [](const char* id, const auto&... words) {
    INFO(id);
    CHECK_THROWS_WITH(resolve(parse_case_id(id)), (Catch::Contains(words) && ...));
  };
  reject("variant=mha:dim=1024:heads=12", "1024", "12", "8, 16");
  reject("variant=gqa:dim=64:heads=8:kv_heads=3", "--kv-heads 3", "--heads 8");
  reject("variant=cga:dim=192:heads=4:v_dim=16", "--v-dim 16", "48");
  reject("variant=mha:grid=14x14:seq_len=100", "100", "196");
  reject("variant=mha:kv_len=5:past_len=3", "--kv-len 5", "cache");
  reject("variant=mha:window=5", "--causal", "5");
  reject("variant=mha:chunk=64", "--chunk", "taken by");
  reject("layout=sandwich:seq_len=200", "200", "--grid");
  reject("layout=sandwich:kernel=4", "--kernel 4", "odd");
  reject("layout=ffn:ffn=glu:activation=relu", "--activation relu", "glu");
  reject("layout=ffn:dim=10:ffn_dim=30:mlp_ratio=4", "30", "4");
  reject("variant=mhha", "mhha", "did you mean 'mha'");
}

TEST_CASE("rounding to half precisions takes the nearest value, ties to even") {
  CHECK(round_to(DType::kBf16, 1.0F + 0.0039F) == 1.0F);
  CHECK(round_to(DType::kBf16, 1.0F + 0.0040F) == 1.0078125F);
  CHECK(round_to(DType::kBf16, 1.00390625F) == 1.0F);      // halfway, the even neighbour below
  CHECK(round_to(DType::kBf16, 1.01171875F) == 1.015625F); // halfway, the even neighbour above
  CHECK(round_to(DType::kF16, 2049.0F) == 2048.0F);
  CHECK(round_to(DType::kF16, 65504.0F) == 65504.0F);
  CHECK(std::isinf(round_to(DType::kF16, 65520.0F)));
  CHECK(round_to(DType::kF16, 5.9604645e-8F) == 5.9604645e-8F); // the smallest subnormal
  CHECK(std::isnan(round_to(DType::kBf16, std::nanf(""))));
}

TEST_CASE("attention tiles are whole vectors and never larger than the problem needs") {
  for (const std::int64_t n : {1L, 49L, 196L, 1024L, 100000L}) {
    for (const std::int64_t width : {16L, 64L, 128L, 512L}) {
      const Tiles tiles = attention_tiles(n, n, width, width);
      CHECK(tiles.queries >= 1);
      CHECK(tiles.queries <= n);
      CHECK(tiles.keys % 64 == 0);
      CHECK(tiles.keys <= round_up(n, 64));
      const Tiles masked = attention_tiles(n, n, width, width, true);
      CHECK(masked.keys % 64 == 0);
      CHECK(masked.keys <= tiles.keys);
      CHECK(masked.queries == tiles.queries);
    }
  }
}

TEST_CASE("math: products in tf32 are part of a case's id, those in f32 are not, and other dtypes have neither") {
  const Config plain = resolve(parse_case_id("variant=mha:seq_len=16:math=f32"));
  CHECK(plain == resolve(parse_case_id("variant=mha:seq_len=16")));
  CHECK(case_id(plain).find("math") == std::string::npos);
  const Config tf32 = resolve(parse_case_id("variant=mha:seq_len=16:math=tf32"));
  CHECK(case_id(tf32).find(":dtype=f32:math=tf32:") != std::string::npos);
  CHECK(resolve(parse_case_id(case_id(tf32))) == tf32);
  CHECK(product_dtype_of(tf32) == "tf32");
  CHECK(product_dtype_of(plain) == "f32");
  CHECK(product_dtype_of(resolve(parse_case_id("variant=mha:dtype=bf16"))) == "bf16");
  CHECK_THROWS_WITH(resolve(parse_case_id("variant=mha:dtype=bf16:math=tf32")), Catch::Contains("these are bf16"));
  // The op list does not depend on it: the same work is counted.
  CHECK(build(tf32).ops.size() == build(plain).ops.size());
}
