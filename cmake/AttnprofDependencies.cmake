# Everything comes from the distribution; scripts/attnprof installs it where the package manager is known.
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(dnnl QUIET CONFIG)
if(NOT dnnl_FOUND)
  message(FATAL_ERROR "oneDNN was not found: install libdnnl-dev (Debian, Ubuntu) or onednn-devel (Fedora), or set dnnl_DIR")
endif()
if(ATTNPROF_TESTS)
  find_package(Catch2 REQUIRED) # version 2 and 3 both do: tests/support/catch.hpp is the one place that knows
endif()
