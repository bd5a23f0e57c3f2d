#include "bench/app.hpp"

#include <iostream>

int main(int argc, char** argv) {
  attnprof::profilers::SteadyClock clock;
  attnprof::bench::Seams seams;
  attnprof::profilers::LinuxHostProbe host;
  seams.clock = &clock;
  seams.host = &host;
  seams.libraries = [](const std::string& isa) {
    using namespace attnprof::bench;
    return std::vector<PeerLibrary>{onednn_library(), openblas_library(), eigen_library(isa), compiler_library(isa)};
  };
  return attnprof::bench::run({argv + 1, argv + argc}, std::cout, std::cerr, seams);
}
