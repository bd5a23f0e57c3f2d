# Everything comes from the distribution; scripts/attnprof installs it where the package manager is known.
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
# oneDNN's own CMake package is not used: Debian's demands the OpenCL development files, which nothing here needs.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(NOT DNNL_INCLUDE_DIR OR NOT DNNL_LIBRARY)
  message(FATAL_ERROR "oneDNN was not found: install libdnnl-dev (Debian, Ubuntu) or onednn-devel (Fedora), or name its "
                      "folder with CMAKE_PREFIX_PATH")
endif()
add_library(DNNL::dnnl UNKNOWN IMPORTED GLOBAL)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")
# libpfm4 names the events of the processor at hand; without it only those count that the kernel names itself.
find_path(PFM_INCLUDE_DIR perfmon/pfmlib_perf_event.h)
find_library(PFM_LIBRARY pfm)
if(PFM_INCLUDE_DIR AND PFM_LIBRARY)
  add_library(PFM::pfm UNKNOWN IMPORTED GLOBAL)
  set_target_properties(PFM::pfm PROPERTIES IMPORTED_LOCATION "${PFM_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${PFM_INCLUDE_DIR}")
else()
  message(STATUS "libpfm4 was not found: floating-point operations will not be counted by the processor")
endif()
find_package(SQLite3 QUIET)
if(NOT SQLite3_FOUND)
  message(STATUS "SQLite was not found: `attnprof history` will say so; install libsqlite3-dev (Debian, Ubuntu) or "
                 "sqlite-devel (Fedora) and configure again")
endif()
# Reads records eight times faster than nlohmann-json, which writes them and does where simdjson is missing.
find_package(simdjson CONFIG QUIET)
if(NOT TARGET simdjson::simdjson)
  message(STATUS "simdjson was not found: reading thousands of records takes longer; install libsimdjson-dev (Debian, "
                 "Ubuntu) or simdjson-devel (Fedora) and configure again")
endif()
if(ATTNPROF_TESTS)
  find_package(Catch2 REQUIRED) # version 2 and 3 both do: tests/support/catch.hpp is the one place that knows
endif()
