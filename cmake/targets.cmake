# One function for each kind of target, so that warnings and sanitizers are set in one place.

set(SWIPR_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor -Wundef)
if(SWIPR_WERROR)
  list(APPEND SWIPR_WARNINGS -Werror)
endif()

# The same source gives the same bytes in every folder.
set(SWIPR_PATHS $<$<CONFIG:RelWithDebInfo>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)

# What code asks for: compilers differ in how they say it.
set(SWIPR_SANITIZER SWIPR_ASAN)
if(SWIPR_SANITIZE STREQUAL thread)
  set(SWIPR_SANITIZER SWIPR_TSAN)
endif()

# Functions and lines for back-traces, without variables, which took a third of the time of compiling.
set(SWIPR_DEBUG_INFO $<$<CONFIG:RelWithDebInfo>:-g1>)

function(swipr_defaults target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${SWIPR_PATHS} ${SWIPR_DEBUG_INFO})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${SWIPR_WARNINGS}>)
  target_compile_definitions(${target} PRIVATE SWIPR_VERSION="${PROJECT_VERSION}")
  if(SWIPR_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SWIPR_SANITIZE}$<$<BOOL:${SWIPR_FUZZ}>:,fuzzer-no-link>
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${SWIPR_SANITIZE})
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS ${SWIPR_SANITIZER})
  endif()
endfunction()

# swipr_library(NAME SOURCES a.cc b.cc LINK other…): an ordinary static library.
function(swipr_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  swipr_defaults(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
endfunction()

# What code in the recorded program needs on each machine. aarch64: atomics without calls of libgcc,
# whose functions choose between two sets of instructions.
set(SWIPR_GUEST_OPTIONS $<$<STREQUAL:${SWIPR_MACHINE},aarch64>:-mno-outline-atomics>)

# swipr_static_program(NAME): an existing executable of the release archive, for systems without its libraries.
function(swipr_static_program name)
  set_target_properties(${name} PROPERTIES SWIPR_STATIC ON EXCLUDE_FROM_ALL ON)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/static_program.cc)
  target_link_options(${name} PRIVATE -static ${SWIPR_STATIC_LIBC} LINKER:--no-warnings)  # static_program.cc mends them
endfunction()

# Where size counts and not speed. By itself clang's -Oz inlines too little of string_view: what is left
# can throw, and needs libstdc++.
set(SWIPR_SMALL_CODE -Oz)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  list(APPEND SWIPR_SMALL_CODE -mllvm -inline-threshold=50)
endif()

# swipr_guest_library(NAME [SMALL] [WAITS] SOURCES … LINK … [ALONE …]): code that runs inside the recorded program,
# libc only. SMALL: it runs seldom, so its size counts and not its speed. WAITS: threads of the program
# wait in it, so it has frame pointers for whoever unwinds them; elsewhere they would be 4 % of the code.
# initial-exec: no TLS resolver call in a handler. No stack protector: its canary lives in TLS that
# a half-made thread may lack. Tables and walks are hot: -O2 also in debug builds.
# The name is built twice: NAME goes into the preload, NAME_host (sanitizers allowed) into tests. Both are unity
# builds but for the files that ALONE names: they have names of their own that others have, too.
function(swipr_guest_library name)
  cmake_parse_arguments(arg "SMALL;WAITS" "" "SOURCES;LINK;ALONE" ${ARGN})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE SWIPR_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
  target_compile_options(${name} PRIVATE ${SWIPR_WARNINGS} -fPIC -fno-exceptions -fno-rtti
    -fno-threadsafe-statics -ftls-model=initial-exec -fno-stack-protector
    "$<IF:$<BOOL:${arg_SMALL}>,${SWIPR_SMALL_CODE},-O2>" $<IF:$<BOOL:${arg_WAITS}>,-fno-omit-frame-pointer,-fomit-frame-pointer>
    -U_FORTIFY_SOURCE -U_GLIBCXX_ASSERTIONS -fno-asynchronous-unwind-tables -fno-unwind-tables
    -ffunction-sections ${SWIPR_GUEST_OPTIONS} ${SWIPR_PATHS})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  set(host_link ${arg_LINK})
  list(TRANSFORM host_link APPEND _host)
  add_library(${name}_host STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  swipr_defaults(${name}_host)
  target_compile_definitions(${name}_host PRIVATE _GNU_SOURCE)
  if(SWIPR_SANITIZE)
    # Else the tables of a sanitizer's runtime take longer to build than a test records.
    target_compile_options(${name}_host PRIVATE -O1)
  endif()
  target_link_libraries(${name}_host PRIVATE ${host_link})
endfunction()

# What sanitizer builds need of a build: unit tests of the CLI, of other code, and of code with several threads.
add_custom_target(cli_tests)
add_custom_target(library_tests)
add_custom_target(threaded_tests)

# swipr_test(NAME [WHOLE] SOURCES … LINK … [ALONE …]): a GoogleTest program, one ctest entry per test case, or one
# for all: WHOLE, where they share what takes long to start, and with a sanitizer, which takes long itself. Part of
# library_tests or, below tests/unit/cli and tests/golden, of cli_tests, and where SWIPR_THREADED_TESTS is set, of
# threaded_tests; labels are library, cli and threaded. ALONE: as of swipr_guest_library.
function(swipr_test name)
  if(NOT SWIPR_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "WHOLE" "" "SOURCES;LINK;ALONE" ${ARGN})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_executable(${name} ${arg_SOURCES})
  set(part library)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(unit/cli|golden)")
    set(part cli)
  endif()
  add_dependencies(${part}_tests ${name})
  set(labels ${part})
  if(SWIPR_THREADED_TESTS)
    add_dependencies(threaded_tests ${name})
    list(APPEND labels threaded)
  endif()
  swipr_defaults(${name})
  target_compile_options(${name} PRIVATE -O0)  # a test runs for an instant, and compiles for long
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)  # more have helpers of one name
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  if(SWIPR_TESTS_OF_A_SYSTEM)
    return()
  endif()
  if(SWIPR_SANITIZE OR arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${labels}")
  else()
    include(GoogleTest)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 120 LABELS ${part})
  endif()
endfunction()

# swipr_fuzz(NAME SOURCES … LINK …). With SWIPR_FUZZ it is a libFuzzer program; otherwise
# tests/fuzz/replay_main.cc feeds it its corpus and mutations of it, as a test.
# The corpus is the folder tests/fuzz/corpus/NAME. MUTATIONS: how many, where one takes long.
function(swipr_fuzz name)
  cmake_parse_arguments(arg "" "MUTATIONS" "SOURCES;LINK" ${ARGN})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(SWIPR_FUZZ)
    add_executable(${name} ${arg_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${name} -max_total_time=10 -rss_limit_mb=4096
             ${CMAKE_CURRENT_BINARY_DIR}/${name}.found ${corpus})
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.found)
  else()
    add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    if(arg_MUTATIONS)
      target_compile_definitions(${name} PRIVATE SWIPR_MUTATIONS=${arg_MUTATIONS})
    endif()
    add_test(NAME fuzz.${name} COMMAND ${name} ${corpus})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets ${name})
  swipr_defaults(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()
