# swipr_embed(TARGET SYMBOL FILE): the bytes of FILE in TARGET, from SYMBOL_begin up to SYMBOL_end.
# The assembler reads the file: an array in C++ would take the compiler minutes per megabyte.
function(swipr_embed target symbol file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.S)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
    .section .rodata
    .global @symbol@_begin, @symbol@_end
    .hidden @symbol@_begin, @symbol@_end
@symbol@_begin:
    .incbin "@file@"
@symbol@_end:
    .byte 0
    .section .note.GNU-stack, "", @progbits
]])
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${source})
endfunction()

# swipr_web_page(OUTPUT FOLDER PAGE [STYLES a.css…] SCRIPTS a.js b.js…): the file PAGE of FOLDER with
# style.css, the other styles and the scripts in it. The scripts are ES modules, in an order in which each stands after what it imports.
function(swipr_web_page output folder page)
  cmake_parse_arguments(arg "" "" "STYLES;SCRIPTS" ${ARGN})
  set(styles style.css ${arg_STYLES})
  list(TRANSFORM styles PREPEND ${folder}/)
  list(TRANSFORM arg_SCRIPTS PREPEND ${folder}/ OUTPUT_VARIABLE scripts)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DPAGE=${folder}/${page} "-DSTYLES=${styles}"
            "-DSCRIPTS=${scripts}" -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/web_page.cmake
    DEPENDS ${folder}/${page} ${styles} ${scripts}
            ${PROJECT_SOURCE_DIR}/cmake/web_page.cmake
    VERBATIM)
endfunction()
