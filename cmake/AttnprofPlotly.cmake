# Sets ATTNPROF_PLOTLY_SCRIPT to plotly's cartesian bundle, which report.html holds whole, or to "" where it cannot be
# had. npm fetches the package from its registry; its archive must have the checksum below, so that a build holds these
# bytes or none. Nothing here fails a build: without the bundle the page draws its charts itself, plainer.
set(ATTNPROF_PLOTLY_VERSION 3.1.0)
set(ATTNPROF_PLOTLY_SHA512 a20859b30b041ab8f8006b676db353174b6af28e0c5a03b22f122eaf9cb55073735e22d6cdb10d939d4dedf17774233e00042bed7ee576a84642f682450b2c7c)
option(ATTNPROF_PLOTLY "Charts of report.html by plotly.js, which npm fetches" ON)
set(ATTNPROF_PLOTLY_ARCHIVE "" CACHE FILEPATH
    "plotly.js-cartesian-dist-min-${ATTNPROF_PLOTLY_VERSION}.tgz, for machines without npm or network")

set(ATTNPROF_PLOTLY_SCRIPT "")
function(attnprof_find_plotly)
  if(NOT ATTNPROF_PLOTLY)
    set(ATTNPROF_PLOTLY_ABSENT "ATTNPROF_PLOTLY is OFF" PARENT_SCOPE)
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/plotly")
  set(name "plotly.js-cartesian-dist-min-${ATTNPROF_PLOTLY_VERSION}.tgz")
  set(archive "${ATTNPROF_PLOTLY_ARCHIVE}")
  if(archive STREQUAL "")
    set(archive "${folder}/${name}")
    if(NOT EXISTS "${archive}")
      find_program(ATTNPROF_NPM npm)
      if(NOT ATTNPROF_NPM)
        set(ATTNPROF_PLOTLY_ABSENT "npm was not found" PARENT_SCOPE)
        return()
      endif()
      file(MAKE_DIRECTORY "${folder}")
      # Short limits: without a network the first build must not hang.
      execute_process(
        COMMAND "${ATTNPROF_NPM}" pack --silent --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=20000
                "plotly.js-cartesian-dist-min@${ATTNPROF_PLOTLY_VERSION}"
        WORKING_DIRECTORY "${folder}" TIMEOUT 90 RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
      if(NOT result EQUAL 0 OR NOT EXISTS "${archive}")
        file(REMOVE "${archive}") # an archive that is there but not whole would be taken next time
        set(ATTNPROF_PLOTLY_ABSENT "npm could not fetch ${name} (${result})" PARENT_SCOPE)
        return()
      endif()
    endif()
  endif()
  if(NOT EXISTS "${archive}")
    set(ATTNPROF_PLOTLY_ABSENT "${archive} does not exist" PARENT_SCOPE)
    return()
  endif()
  file(SHA512 "${archive}" sum)
  if(NOT sum STREQUAL ATTNPROF_PLOTLY_SHA512)
    if(ATTNPROF_PLOTLY_ARCHIVE STREQUAL "")
      file(REMOVE "${archive}")
    endif()
    set(ATTNPROF_PLOTLY_ABSENT "${archive} has the checksum ${sum}, not that of ${name}" PARENT_SCOPE)
    return()
  endif()
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${folder}" PATTERNS package/plotly-cartesian.min.js)
  set(ATTNPROF_PLOTLY_SCRIPT "${folder}/package/plotly-cartesian.min.js" PARENT_SCOPE)
endfunction()
attnprof_find_plotly()

if(ATTNPROF_PLOTLY_SCRIPT STREQUAL "")
  message(STATUS "plotly charts in report.html: off, since ${ATTNPROF_PLOTLY_ABSENT}. The page draws plain charts, its "
                 "tables are the same. To turn them on, install npm and configure again, or name a copy of the package "
                 "with -DATTNPROF_PLOTLY_ARCHIVE=plotly.js-cartesian-dist-min-${ATTNPROF_PLOTLY_VERSION}.tgz")
else()
  message(STATUS "plotly charts in report.html: on, plotly.js ${ATTNPROF_PLOTLY_VERSION}")
endif()
