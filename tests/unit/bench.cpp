#include "bench/app.hpp"
#include "bench/peer.hpp"
#include "bench/report.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/temp_dir.hpp"

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

using namespace attnprof;
using namespace attnprof::bench;

namespace {

Contestant taking(const std::string& name, double seconds, tests::FakeClock& clock,
                  std::vector<std::string>* order = nullptr) {
  return {name, [=, &clock] {
            clock.advance_s(seconds);
            if (order != nullptr) {
              order->push_back(name);
            }
          }};
}

Measured measured_of(std::vector<std::vector<double>> times_s, bool has_reference, std::vector<std::string> peers) {
  Measured out;
  out.amount = 100.0;
  out.limit_amount = 400.0;
  out.has_reference = has_reference;
  out.peer_names = std::move(peers);
  for (const std::vector<double>& times : times_s) {
    out.rounds.whole.emplace_back(times.size(), true);
  }
  out.rounds.times_s = std::move(times_s);
  return out;
}

/// A library that does nothing, and so gives a wrong result.
std::vector<PeerLibrary> idle_library(const std::string& /*isa*/) {
  return {{"idle", "1", std::nullopt,
           [](const PeerCase&) {
             return std::vector<Contestant>{{"idle", [] {}}};
           }},
          {"missing", "", "it is not there", {}}};
}

struct Ran {
  int exit_code;
  std::string out, err;
};
Ran run_bench(const std::vector<std::string>& arguments) {
  profilers::SteadyClock clock;
  profilers::LinuxHostProbe host;
  Seams seams{idle_library, &clock, &host};
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = bench::run(arguments, out, err, seams);
  return {exit_code, out.str(), err.str()};
}

} // namespace

TEST_CASE("bench sampler: times of one run, in rounds that go forwards and backwards", "[bench]") {
  tests::FakeClock clock(0);
  std::vector<std::string> order;
  const std::vector<Contestant> contestants{taking("a", 2e-3, clock, &order), taking("b", 4e-3, clock, &order),
                                            taking("c", 8e-3, clock, &order)};
  CoreWatch none;
  const Rounds rounds = sample(contestants, {1e-3, 0.0, 4, 9}, clock, none);
  REQUIRE(rounds.times_s.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(rounds.times_s[i].size() == 4);
    CHECK(rounds.times_s[i][3] == Catch::Approx(2e-3 * static_cast<double>(1 << i)));
  }
  const std::vector<std::string> last(order.end() - 6, order.end());
  CHECK(last == std::vector<std::string>{"a", "b", "c", "c", "b", "a"});
}

TEST_CASE("bench sampler: a sample of something short is many runs, and the slice ends the rounds", "[bench]") {
  tests::FakeClock clock(0);
  std::vector<std::string> order;
  CoreWatch none;
  const Rounds rounds =
      sample(std::vector<Contestant>{taking("a", 1e-6, clock, &order)}, {1e-3, 3.5e-3, 2, 100}, clock, none);
  CHECK(rounds.times_s[0].size() == 4);
  CHECK(rounds.times_s[0][0] == Catch::Approx(1e-6));
  CHECK(order.size() > 4000);
}

TEST_CASE("bench sampler: a short run is made once before each sample, untimed", "[bench]") {
  tests::FakeClock clock(0);
  // The first run after another contestant takes three times as long as the others: its data left the caches.
  bool cold = false;
  const std::vector<Contestant> contestants{{"ours",
                                             [&] {
                                               clock.advance_s(cold ? 3e-4 : 1e-4);
                                               cold = false;
                                             }},
                                            {"other", [&] {
                                               clock.advance_s(5e-3);
                                               cold = true;
                                             }}};
  CoreWatch none;
  const Rounds rounds = sample(contestants, {1e-3, 0.0, 3, 3}, clock, none);
  for (const double time_s : rounds.times_s[0]) {
    CHECK(time_s == Catch::Approx(1e-4));
  }
}

TEST_CASE("bench sampler: a clock that stands still ends too", "[bench]") {
  tests::FakeClock clock(0);
  CoreWatch none;
  const Rounds rounds = sample(std::vector<Contestant>{taking("a", 0.0, clock)}, {1e-3, 1.0, 1, 1}, clock, none);
  CHECK(rounds.times_s[0] == std::vector<double>{0.0});
  CHECK(rounds.median_ratio(0, 0) == std::nullopt);
}

TEST_CASE("bench sampler: samples whose core something else used as well are left out", "[bench]") {
  tests::FakeClock clock(0);
  tests::FakeHost host(clock);
  // Three rounds in four, a neighbour halves the rate of issue, and our kernel takes twice as long; the limit does not.
  int round = -1;
  const auto shared = [&] { return round % 4 != 3; };
  const std::vector<Contestant> contestants{{"ours",
                                             [&] {
                                               host.issue_rate = shared() ? 2.1 : 4.0;
                                               clock.advance_s(shared() ? 2e-3 : 1e-3);
                                             }},
                                            {"limit", [&] {
                                               clock.advance_s(1e-3);
                                               ++round;
                                             }}};
  CoreWatch watch([&] { return profilers::measure_core(clock, host).issue_rate; });
  watch.expect(4.0);
  const Rounds rounds = sample(contestants, {1e-3, 0.0, 5, 5, 1.0}, clock, watch);
  CHECK(rounds.rounds_of_pair(true) == 5); // more rounds than asked for, until five were whole
  CHECK(rounds.times_s[0].size() > 15);
  CHECK(rounds.median_ratio(0, 1).value() == Catch::Approx(1.0));
  CHECK(rounds.median_time(0).value() == Catch::Approx(1e-3));

  round = -1000000; // shared for ever
  host.issue_rate = 2.1;
  const std::vector<Contestant> slow{{"ours", [&] { clock.advance_s(2e-3); }},
                                     {"limit", [&] { clock.advance_s(1e-3); }}};
  const Rounds all = sample(slow, {1e-3, 0.0, 5, 5, 0.1}, clock, watch);
  CHECK(all.rounds_of_pair(true) == 0);
  CHECK(all.times_s[0].size() > 5); // it was patient
  CHECK(all.median_ratio(0, 1).value() == Catch::Approx(2.0));
}

TEST_CASE("bench: a core is shared when it issues much less than it once did", "[bench]") {
  std::optional<double> rate = 3.0;
  CoreWatch watch([&] { return rate; });
  CHECK(watch.is_whole(1.0)); // nothing to compare with yet
  CHECK(watch.look() == 3.0);
  rate = 4.0;
  watch.look();
  CHECK(watch.best() == 4.0);
  CHECK(watch.is_whole(3.5));
  CHECK_FALSE(watch.is_whole(3.3));
  CHECK(watch.is_whole(std::nullopt));
  CHECK_FALSE(CoreWatch().look());
}

TEST_CASE("bench: the loops of the real host tell a rate on every thread of a team", "[bench]") {
  profilers::LinuxHostProbe host;
  const std::optional<double> rate = least_issue_rate(operators::ThreadTeam(2), host);
#if defined(__x86_64__) || defined(__aarch64__)
  REQUIRE(rate);
  CHECK(*rate > 0.0);
#else
  CHECK_FALSE(rate);
#endif
}

TEST_CASE("bench: a claim is shared by the rounds of its own contestants", "[bench]") {
  // Ours and the limit had their cores to themselves in later rounds, which the library did not take part in.
  Measured measured = measured_of({{2.0, 2.0, 2.0, 1.0, 1.0, 1.0}, {4.0, 4.0, 4.0, 4.0, 4.0, 4.0}, {3.0, 3.0, 3.0}},
                                  false, {"library"});
  for (std::size_t i = 0; i < 3; ++i) {
    measured.rounds.whole[0][i] = false;
    measured.rounds.whole[2][i] = false;
  }
  Row row;
  derive(row, measured, {{"projection", Source::kLimit}, {"product-peer", Source::kBestPeer}});
  CHECK_FALSE(row.core_shared());
  REQUIRE(row.claims.size() == 2);
  CHECK_FALSE(row.claims[0].core_shared);
  CHECK(row.claims[0].figure == Catch::Approx(1.0)); // of the later rounds
  CHECK(row.claims[1].core_shared);
  CHECK(row.claims[1].figure == Catch::Approx(1.5)); // of the rounds that both have
}

TEST_CASE("bench: a row that had no core to itself says so, and the run says how many had", "[bench]") {
  Row row;
  Measured measured = measured_of({{2.0, 2.0, 2.0, 2.0}, {4.0, 4.0, 4.0, 4.0}}, false, {});
  measured.rounds.whole[0] = {true, true, false, false};
  derive(row, measured, {});
  CHECK(row.whole_rounds == 2);
  CHECK(row.core_shared());
  CHECK(row_text(row).find("[core shared]") != std::string::npos);
  measured.rounds.whole[0][2] = true;
  Row other;
  derive(other, measured, {});
  CHECK_FALSE(other.core_shared());
  Result result;
  CHECK(core_text(result).empty());
  result.rows = {row, other};
  result.issue_rate = 4.0;
  CHECK(core_text(result).find("62 % of the rounds") != std::string::npos);
  CHECK(core_text(result).find("which rest on all: 1") != std::string::npos);
}

TEST_CASE("bench: oneDNN composes attention from its primitives, and computes what is asked for", "[bench]") {
  constexpr std::int64_t kHeads = 2;
  constexpr std::int64_t kTokens = 24;
  constexpr std::int64_t kWidth = 16;
  const auto values = [](int seed) {
    std::vector<float> out(static_cast<std::size_t>(kHeads * kTokens * kWidth));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = 0.25F * static_cast<float>(static_cast<int>(i * 7 + static_cast<std::size_t>(seed)) % 23 - 11);
    }
    return out;
  };
  const std::vector<float> q = values(1);
  const std::vector<float> k = values(5);
  const std::vector<float> v = values(9);
  for (const bool causal : {false, true}) {
    std::vector<float> y(q.size());
    PeerCase which;
    which.op = PeerOp::kAttention;
    which.batch = kHeads;
    which.m = kTokens;
    which.k = kWidth;
    which.causal = causal;
    which.a = q.data();
    which.b = k.data();
    which.c = v.data();
    which.y = y.data();
    const std::vector<Contestant> peers = onednn_library().make(which);
    REQUIRE(peers.size() == 1);
    peers[0].run();
    const auto at = [&](const std::vector<float>& x, std::int64_t token, std::int64_t head, std::int64_t i) {
      return static_cast<double>(x[static_cast<std::size_t>((token * kHeads + head) * kWidth + i)]);
    };
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t row = 0; row < kTokens; ++row) {
        std::vector<double> mixed(kWidth, 0.0);
        double sum = 0.0;
        for (std::int64_t key = 0; key < (causal ? row + 1 : kTokens); ++key) {
          double score = 0.0;
          for (std::int64_t i = 0; i < kWidth; ++i) {
            score += at(q, row, head, i) * at(k, key, head, i);
          }
          const double weight = std::exp(score * static_cast<double>(kScoreScale));
          sum += weight;
          for (std::int64_t i = 0; i < kWidth; ++i) {
            mixed[static_cast<std::size_t>(i)] += weight * at(v, key, head, i);
          }
        }
        for (std::int64_t i = 0; i < kWidth; ++i) {
          CHECK(at(y, row, head, i) == Catch::Approx(mixed[static_cast<std::size_t>(i)] / sum).margin(1e-4));
        }
      }
    }
  }
}

TEST_CASE("bench: ratios are medians over rounds, not ratios of medians", "[bench]") {
  const Measured measured = measured_of({{1.0, 10.0, 3.0}, {2.0, 5.0, 3.0}}, false, {});
  CHECK(measured.rounds.median_ratio(0, 1) == Catch::Approx(1.0)); // 0.5, 2, 1; the medians are 3 and 3
  CHECK(measured_of({{}, {}}, false, {}).rounds.median_ratio(0, 1) == std::nullopt);
}

TEST_CASE("bench: figures of a row follow from its samples", "[bench]") {
  Row row;
  derive(row, measured_of({{2.0, 2.0}, {4.0, 4.0}, {1.0, 1.0}, {3.0, 3.0}, {2.5, 2.5}}, true, {"slow", "fast"}),
         {{"projection", Source::kLimit},
          {"fused", Source::kSlowdown},
          {"threads", Source::kSpeedup},
          {"product-peer", Source::kBestPeer}});
  CHECK(row.rounds == 2);
  CHECK(row.share == Catch::Approx(0.5)); // 50 a second of 100 a second
  CHECK(row.limit_rate == Catch::Approx(100.0));
  CHECK(row.time_over_reference.value() == Catch::Approx(2.0));
  REQUIRE(row.peers.size() == 2);
  CHECK(row.peers[0].time_over_ours == Catch::Approx(1.5));
  REQUIRE(row.claims.size() == 4);
  CHECK(row.claims[0].verdict == BarVerdict::kShort);
  CHECK(row.claims[1].verdict == BarVerdict::kShort);
  CHECK(row.claims[2].figure == Catch::Approx(0.5));
  CHECK(row.claims[3].figure == Catch::Approx(1.25)); // the faster library
  CHECK(row.claims[3].verdict == BarVerdict::kOk);
}

TEST_CASE("bench: a claim without its reference or a library makes no figure", "[bench]") {
  Row row;
  derive(row, measured_of({{2.0}, {4.0}}, false, {}), {{"fused", Source::kSlowdown}, {"rows-peer", Source::kBestPeer}});
  CHECK(row.claims.empty());
  CHECK(row.time_over_reference == std::nullopt);
}

TEST_CASE("bench: a bar has the verdict of its worst row", "[bench]") {
  Result result;
  for (const double figure : {0.95, 0.80, 0.90}) {
    Row row;
    row.name = std::to_string(figure);
    row.claims = {{"projection", figure, verdict_on(find_bar("projection"), figure), false}};
    result.rows.push_back(row);
  }
  const auto find = [](const std::vector<BarRow>& rows, std::string_view name) {
    return *std::find_if(rows.begin(), rows.end(), [&](const BarRow& row) { return row.bar->name == name; });
  };
  const std::vector<BarRow> bars = bar_rows(result, false, false);
  const BarRow projection = find(bars, "projection");
  CHECK(projection.worst_figure == 0.80);
  CHECK(projection.median_figure == 0.90);
  CHECK(projection.short_rows == 1);
  CHECK(projection.verdict == BarVerdict::kShort);
  CHECK(projection.worst_name == std::to_string(0.80));
  result.rows[1].claims[0].core_shared = true;
  const BarRow others = find(bar_rows(result, false, false), "projection");
  CHECK(others.worst_figure == 0.90);
  CHECK(others.rows == 2);
  CHECK(others.shared_rows == 1);
  CHECK(others.verdict == BarVerdict::kOk);
  result.rows[0].claims[0].core_shared = result.rows[2].claims[0].core_shared = true;
  const BarRow shared = find(bar_rows(result, false, false), "projection");
  CHECK(shared.worst_figure == 0.80);
  CHECK(shared.all_shared);
  CHECK(bars_text({shared}).find("short, core shared") != std::string::npos);
  CHECK(find(bars, "avx512").verdict == BarVerdict::kNotApplicable);
  CHECK(find(bar_rows(result, true, false), "avx512").verdict == std::nullopt);
}

TEST_CASE("bench: every bar is claimed by a case, and every claim names a bar", "[bench]") {
  const std::vector<Case> cases = make_cases({"avx512", "avx2", true, {1, 2}, false});
  std::set<std::string> claimed{"attention-memory"}; // counted, not timed
  for (const Case& which : cases) {
    for (const Claim& claim : which.claims) {
      claimed.insert(claim.bar);
      CHECK_NOTHROW(find_bar(claim.bar));
    }
  }
  for (const Bar& bar : all_bars()) {
    INFO(bar.name);
    CHECK(claimed.count(std::string(bar.name)) == 1);
  }
  CHECK_THROWS(find_bar("none"));
}

TEST_CASE("bench: memory of fused attention grows with the tokens", "[bench]") {
  const CountedRow row = fused_memory_growth("");
  CHECK(row.claim.figure > 1.5);
  CHECK(row.claim.verdict == BarVerdict::kOk);
}

TEST_CASE("bench: a run of small cases prints its bars and writes JSON", "[bench]") {
  const tests::TempDir folder;
  const std::filesystem::path json = folder.path() / "bench.json";
  const std::filesystem::path markdown = folder.path() / "bench.md";
  const Ran ran = run_bench({"--small", "--json", json.string(), "--markdown", markdown.string()});
  INFO(ran.err);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.out.find("missing: absent, it is not there") != std::string::npos);
  CHECK(ran.out.find("idle: ") != std::string::npos);
  CHECK(ran.out.find("(result differs)") != std::string::npos);
  std::ifstream file(json);
  const nlohmann::json document = nlohmann::json::parse(file);
  CHECK(document.at("schema_version") == kSchemaVersion);
  CHECK(document.at("bars").size() == all_bars().size());
  CHECK(document.at("libraries").at(1).at("absent") == "it is not there");
  REQUIRE(document.at("rows").size() > 4);
  for (const nlohmann::json& row : document.at("rows")) {
    CHECK(row.at("time_median_s").get<double>() > 0);
    CHECK(row.at("share_of_limit").get<double>() > 0);
    CHECK(row.at("rounds") == 3);
    CHECK(row.at("impl").get<std::string>().find("own") != std::string::npos);
    for (const nlohmann::json& claim : row.at("claims")) {
      CHECK((claim.at("verdict") == "ok" || claim.at("verdict") == "short"));
    }
  }
  std::ifstream table(markdown);
  const std::string text{std::istreambuf_iterator<char>(table), {}};
  CHECK(text.find("| tiny batched") != std::string::npos);
}

TEST_CASE("bench: a filter chooses by case and by bar, and one that chooses nothing is refused", "[bench]") {
  const Ran tiny = run_bench({"--small", "--list", "--filter", "^tiny$"});
  CHECK(tiny.exit_code == 0);
  CHECK(tiny.out == "scores 4x[49x49x16]T (1 threads)\n");
  const Ran none = run_bench({"--small", "--filter", "nothing"});
  CHECK(none.exit_code == 2);
  CHECK(none.err.find("'nothing'") != std::string::npos);
  CHECK(run_bench({"--filter", "("}).exit_code == 2);
  CHECK(run_bench({"--no-such-flag"}).exit_code == 2);
  CHECK(run_bench({"--help"}).exit_code == 0);
  CHECK(run_bench({"--count", "nothing"}).exit_code == 2);
  CHECK(run_bench({"--count", "softmax 196 L2"}).out == "softmax 196 L2\n");
}
