# swipr_version(TARGET): kBuildVersion of cli/options/version.h in TARGET. The commit is looked up at each
# build; only the generated file is compiled again, and only when the commit has changed.
# As a script (cmake -P): writes OUTPUT from SOURCE, VERSION and BUILD_TYPE.
if(CMAKE_SCRIPT_MODE_FILE)
  # An unpacked archive within another repository has no commit of its own.
  set(git git --no-optional-locks -c safe.directory=* -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse --show-toplevel OUTPUT_VARIABLE top RESULT_VARIABLE failed
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH ${SOURCE} source)
  set(commit unknown)
  if(NOT failed AND top STREQUAL source)
    execute_process(COMMAND ${git} describe --always --dirty --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(NOT BUILD_TYPE)
    set(BUILD_TYPE none)
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "cli/options/version.h"

namespace swipr::options {

const char kBuildVersion[] = "@VERSION@ (commit @commit@, build type @BUILD_TYPE@)";

}  // namespace swipr::options
]])
  return()
endif()

function(swipr_version target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/version.cc)
  add_custom_target(${target}_version BYPRODUCTS ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
            -DBUILD_TYPE=${CMAKE_BUILD_TYPE} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake
    VERBATIM)
  set_source_files_properties(${output} PROPERTIES GENERATED TRUE SKIP_UNITY_BUILD_INCLUSION TRUE)
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} ${target}_version)
endfunction()
