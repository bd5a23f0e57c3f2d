# attnprof_embed_report_assets(TARGET FOLDER): compiles the files of FOLDER into TARGET as the functions of
# reports/assets.hpp, again whenever one of them changes.
set(ATTNPROF_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/assets_embed.cmake")
function(attnprof_embed_report_assets target folder)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/report_assets.cpp")
  set(files "${folder}/report.html" "${folder}/report.css" "${folder}/charts.js" "${folder}/report.js" "${folder}/tables.js")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DOUT=${out}" -P "${ATTNPROF_EMBED_SCRIPT}"
    DEPENDS ${files} "${ATTNPROF_EMBED_SCRIPT}"
    COMMENT "Embedding the report page" VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()
