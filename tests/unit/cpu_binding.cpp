#include "operators/exec/threads.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::operators;

TEST_CASE("binding: distinct cores first, fast ones before slow ones, the first core and siblings last") {
  using Ids = std::vector<int>;
  CHECK(binding_order({{0, 0, false}}) == Ids{0});
  CHECK(binding_order({{0, 0, false}, {1, 1, false}, {2, 2, false}}) == Ids{1, 2, 0});
  // Two hardware threads a core, numbered side by side.
  CHECK(binding_order({{0, 0, false}, {1, 0, false}, {2, 2, false}, {3, 2, false}}) == Ids{2, 0, 3, 1});
  // The first core is that of the first processor that the process may use.
  CHECK(binding_order({{6, 6, false}, {4, 4, false}, {5, 5, false}}) == Ids{5, 6, 4});
  // Two fast cores with two threads each, two slow ones.
  CHECK(binding_order({{0, 0, false}, {1, 0, false}, {2, 2, false}, {3, 2, false}, {4, 4, true}, {5, 5, true}}) ==
        Ids{2, 0, 4, 5, 3, 1});
  CHECK(binding_order({}).empty());
}

TEST_CASE("binding: a team names the processors of its workers, all different") {
  const std::vector<int> usable = usable_processors();
  REQUIRE_FALSE(usable.empty());
  const ThreadTeam one(1);
  CHECK(one.processors() == std::vector<int>{usable.front()});
  const ThreadTeam many(static_cast<int>(usable.size()) + 1);
  CHECK(many.processors().empty());
}
