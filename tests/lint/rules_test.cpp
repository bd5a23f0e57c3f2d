// Each rule on small made-up trees, good and bad: a rule that cannot fail would say nothing about the real tree.
#include "tests/lint/rules.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::tests::lint;

namespace {

const std::vector<SourceFile> kHeaders = {
    {"operators/core/op.hpp", "#pragma once\n"}, {"operators/exec/executor.hpp", "#pragma once\n"},
    {"profilers/clock.hpp", "#pragma once\n"},   {"reports/derive.hpp", "#pragma once\n"},
    {"cli/app.hpp", "#pragma once\n"},           {"tests/support/temp_dir.hpp", "#pragma once\n"}};

Breaches includes_of(const std::string& path, const std::string& text) {
  std::vector<SourceFile> files = kHeaders;
  files.push_back({path, text});
  return check_includes(files);
}

} // namespace

TEST_CASE("lint rule: includes go down only", "[lint]") {
  CHECK(includes_of("cli/app.cpp", "#include \"reports/derive.hpp\"\n#include \"operators/core/op.hpp\"\n").empty());
  CHECK(includes_of("tests/unit/a.cpp", "#include \"cli/app.hpp\"\n#include \"operators/core/op.hpp\"\n").empty());
  CHECK(includes_of("operators/exec/a.cpp", "#include \"profilers/clock.hpp\"\n") ==
        Breaches{"operators/exec/a.cpp:1: operators must not include profilers/clock.hpp, which is above it"});
  CHECK(includes_of("profilers/a.cpp", "#include <vector>\n  #  include \"reports/derive.hpp\"\n") ==
        Breaches{"profilers/a.cpp:2: profilers must not include reports/derive.hpp, which is above it"});
  CHECK(includes_of("reports/a.hpp", "#include \"cli/app.hpp\"\n").size() == 1);
  CHECK(includes_of("reports/a.cpp", "#include \"tests/support/temp_dir.hpp\"\n") ==
        Breaches{"reports/a.cpp:1: the product must not include tests/support/temp_dir.hpp"});
}

TEST_CASE("lint rule: operators/core stands on itself, the standard library, fmt and JSON", "[lint]") {
  CHECK(includes_of("operators/core/a.cpp", "#include \"operators/core/op.hpp\"\n#include <fmt/format.h>\n"
                                            "#include <nlohmann/json.hpp>\n#include <cstdint>\n")
            .empty());
  CHECK(includes_of("operators/core/a.cpp", "#include \"operators/exec/executor.hpp\"\n") ==
        Breaches{"operators/core/a.cpp:1: operators/core must not include operators/exec/executor.hpp"});
  CHECK(includes_of("operators/core/a.cpp", "#include <Eigen/Core>\n").size() == 1);
  CHECK(includes_of("operators/core/a.cpp", "#include <unistd.h>\n").size() == 1);
  CHECK(includes_of("operators/exec/a.cpp", "#include <Eigen/Core>\n").empty());
}

TEST_CASE("lint rule: project headers are named from the repository root", "[lint]") {
  CHECK(includes_of("operators/core/a.cpp", "#include \"op.hpp\"\n") ==
        Breaches{"operators/core/a.cpp:1: \"op.hpp\" is no path from the repository root"});
  CHECK(includes_of("cli/a.cpp", "#include \"attnprof_version.hpp\"\n").empty());
}

TEST_CASE("lint rule: file length", "[lint]") {
  CHECK(check_file_lengths({{"cli/a.cpp", "1\n2\n3\n"}}, 3).empty());
  CHECK(check_file_lengths({{"cli/a.cpp", "1\n2\n3\n4\n"}}, 3) ==
        Breaches{"cli/a.cpp: 4 lines, over 3: split it by topic"});
  CHECK(check_file_lengths({{"scripts/test", "1\n2\n3\n4\n"}, {"cli/CMakeLists.txt", "1\n2\n3\n4\n"}}, 3).size() == 2);
  CHECK(check_file_lengths({{"tests/data/a.csv", "1\n2\n3\n4\n"}}, 3).empty());
}

TEST_CASE("lint rule: folder names", "[lint]") {
  CHECK(check_folder_names({{"cli/commands/run.cpp", ""}, {"cli/common.cpp", ""}}).empty());
  CHECK(check_folder_names({{"operators/utils/a.cpp", ""}, {"operators/utils/b.cpp", ""}}) ==
        Breaches{"operators/utils: name the folder after what is in it"});
  CHECK(check_folder_names({{"common/a.cpp", ""}, {"tests/helpers/x/a.cpp", ""}}).size() == 2);
}

TEST_CASE("lint rule: machine paths", "[lint]") {
  std::string bad = "x\ncd /";
  bad += "work/main\n"; // apart, so that this file passes its own rule
  CHECK(check_machine_paths({{"README.md", bad}}).size() == 1);
  CHECK(check_machine_paths({{"README.md", std::string("see /") + "root/notes"}}).size() == 1);
  CHECK(check_machine_paths({{"README.md", "frame" + bad.substr(6) + " net/work /workers /rooted"}}).empty());
}

TEST_CASE("lint rule: #pragma once", "[lint]") {
  CHECK(check_pragma_once({{"cli/a.hpp", "// why\n#pragma once\n"}, {"cli/a.cpp", "int a;\n"}}).empty());
  CHECK(check_pragma_once({{"cli/a.hpp", "#include <vector>\n#pragma once\n"}}).size() == 1);
  CHECK(check_pragma_once({{"cli/a.hpp", "// #pragma once\nint a;\n"}}).size() == 1);
  CHECK(check_pragma_once({{"cli/a.hpp", ""}}).size() == 1);
}

TEST_CASE("lint rule: vocabulary", "[lint]") {
  const auto breaches_in = [](const std::string& text) { return check_vocabulary({{"cli/a.hpp", text}}); };
  CHECK(breaches_in("int seq_len;\nclass Model;\nint metadata;\nINFO(x);\nint modes;\n").empty());
  CHECK(breaches_in("struct CaseInfo;\nint hidden_size;\nvoid f(int mode);\nclass WeightManager;\n").size() == 4);
  CHECK(breaches_in("int n = v.data() + p->data() + std::data(v);\n").empty());
  CHECK(breaches_in("// the hidden data\n/* a\n method */ const char* key = \"hidden_size\";\nint data_;\n") ==
        Breaches{"cli/a.hpp:4: 'data' in 'data_' says too little"});
  CHECK(check_vocabulary({{"cli/a.cpp", "int data;\n"}}).empty());
}

TEST_CASE("lint rule: every variant and layout has an oracle", "[lint]") {
  CHECK(check_oracles({{"operators/variants/mha.cpp", ""}, {"tests/oracle/mha.cpp", ""}}).empty());
  CHECK(check_oracles({{"operators/layouts/standard.cpp", ""}, {"tests/oracle/standard_test.cpp", ""}}).empty());
  CHECK(check_oracles({{"operators/variants/mha.cpp", ""}, {"tests/unit/mha.cpp", ""}}) ==
        Breaches{"operators/variants/mha.cpp: no tests/oracle/mha.cpp computes it by a second way"});
  CHECK(check_oracles({{"operators/layers/rope.cpp", ""}}).empty());
}

TEST_CASE("lint: comments and literals are not code", "[lint]") {
  CHECK(code_only("a // b\nc") == "a     \nc");
  CHECK(code_only("a /* b\n*/ c") == "a     \n   c");
  CHECK(code_only(R"(f("x\"y", 'z'))") == R"(f("    ", ' '))");
  CHECK(code_only("R\"_(a \" b)_\" c") == "R\"         \" c");
  CHECK(code_only("1'000'000 + d") == "1'000'000 + d");
}
