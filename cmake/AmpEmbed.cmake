# amp_embed_files(OUTPUT file.inc FILES files...): one {"name", R"(text)"} row per file, for a string table in C++.
# Run as a script (-P) it writes the table.

if(CMAKE_SCRIPT_MODE_FILE)
  set(table "")
  foreach(path IN LISTS FILES)
    get_filename_component(name "${path}" NAME_WE)
    file(READ "${path}" text)
    string(APPEND table "{\"${name}\", R\"amp_embed(${text})amp_embed\"},\n")
  endforeach()
  file(WRITE "${OUTPUT}" "${table}")
  return()
endif()

set(AMP_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
function(amp_embed_files)
  cmake_parse_arguments(ARG "" "OUTPUT" "FILES" ${ARGN})
  add_custom_command(
    OUTPUT "${ARG_OUTPUT}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${ARG_OUTPUT}" "-DFILES=${ARG_FILES}" -P "${AMP_EMBED_SCRIPT}"
    DEPENDS ${ARG_FILES} "${AMP_EMBED_SCRIPT}"
    VERBATIM)
endfunction()
