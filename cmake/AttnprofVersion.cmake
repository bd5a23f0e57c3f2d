# Writes generated/attnprof_version.hpp: version, commit, compiler and flags, the build part of the fingerprint.
find_package(Git QUIET)
set(ATTNPROF_COMMIT "unknown")
if(Git_FOUND AND EXISTS "${CMAKE_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --abbrev=12 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                  OUTPUT_VARIABLE ATTNPROF_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(ATTNPROF_GENERATED_DIR "${CMAKE_BINARY_DIR}/generated")
configure_file("${CMAKE_SOURCE_DIR}/cmake/attnprof_version.hpp.in" "${ATTNPROF_GENERATED_DIR}/attnprof_version.hpp" @ONLY)
target_include_directories(attnprof_options INTERFACE "${ATTNPROF_GENERATED_DIR}")
