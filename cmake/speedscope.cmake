# swipr_embed_speedscope(TARGET): speedscope (MIT) in TARGET, for `swipr view`. Fetched with npm where npm is
# there; the pinned hash is what npm's registry has for this version. Everything works without it.
set(SWIPR_SPEEDSCOPE_VERSION 1.25.0)
set(SWIPR_SPEEDSCOPE_SHA512
  7297fd1d64d97f58a32d7049ae4f3b55eff9e2d9d8c7aae57f48144e1be7de8a24ea1eb784b5d539088c7f8e0f4fe5e8579d3770f7ef7e24f980fe6fa23a7a02)
option(SWIPR_SPEEDSCOPE "Bundle speedscope with `swipr view` where npm can fetch it" ON)

# Sets RESULT to the unpacked package, or to nothing.
function(swipr_fetch_speedscope result)
  set(${result} "" PARENT_SCOPE)
  set(folder ${CMAKE_BINARY_DIR}/speedscope)
  set(archive ${folder}/speedscope-${SWIPR_SPEEDSCOPE_VERSION}.tgz)
  if(NOT EXISTS ${archive})
    find_program(SWIPR_NPM npm)
    if(NOT SWIPR_NPM)
      message(STATUS "speedscope is not bundled: no npm")
      return()
    endif()
    file(MAKE_DIRECTORY ${folder})
    execute_process(
      COMMAND ${SWIPR_NPM} pack speedscope@${SWIPR_SPEEDSCOPE_VERSION} --silent --ignore-scripts
              --fetch-retries=1 --fetch-timeout=20000
      WORKING_DIRECTORY ${folder} TIMEOUT 60 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed OR NOT EXISTS ${archive})
      message(STATUS "speedscope is not bundled: npm could not fetch it")
      return()
    endif()
  endif()
  file(SHA512 ${archive} hash)
  if(NOT hash STREQUAL SWIPR_SPEEDSCOPE_SHA512)
    message(FATAL_ERROR "${archive} is not speedscope ${SWIPR_SPEEDSCOPE_VERSION}: remove it, or use -DSWIPR_SPEEDSCOPE=OFF")
  endif()
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder})
  set(${result} ${folder}/package PARENT_SCOPE)
endfunction()

function(swipr_embed_speedscope target)
  set(package "")
  if(SWIPR_SPEEDSCOPE)
    swipr_fetch_speedscope(package)
  endif()
  set(files "")
  if(package)
    file(GLOB files ${package}/dist/release/index.html ${package}/dist/release/*.js
      ${package}/dist/release/*.css ${package}/dist/release/*.wasm ${package}/dist/release/*.woff2
      ${package}/dist/release/*.png ${package}/dist/release/*.ico
      ${package}/dist/release/source-code-pro.LICENSE.md ${package}/LICENSE)
  endif()
  set(types_html "text/html")
  set(types_js text/javascript)
  set(types_css text/css)
  set(types_wasm application/wasm)
  set(types_woff2 font/woff2)
  set(types_png image/png)
  set(types_ico image/x-icon)
  set(declarations "")
  set(entries "")
  set(number 0)
  foreach(file ${files})
    cmake_path(GET file FILENAME name)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(SUBSTRING "${extension}." 1 -1 extension)
    string(REPLACE "." "" extension "${extension}")
    set(type ${types_${extension}})
    if(NOT type)
      set(type "text/plain")
    endif()
    set(symbol swipr_speedscope_${number})
    swipr_embed(${target} ${symbol} ${file})
    string(APPEND declarations "extern \"C\" const char ${symbol}_begin[];\nextern \"C\" const char ${symbol}_end[];\n")
    string(APPEND entries "    {\"${name}\", \"${type}\", ${symbol}_begin, ${symbol}_end},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/speedscope_files.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "cli/serve/speedscope_files.h"

#include <vector>

@declarations@
namespace swipr::serve {

std::span<const EmbeddedFile> speedscope_files() {
  static const std::vector<EmbeddedFile> files = {
@entries@  };
  return files;
}

}  // namespace swipr::serve
]])
  target_sources(${target} PRIVATE ${source})
endfunction()
