# One library per folder, explicit sources, dependencies spelled out.

# kantha_library(NAME SOURCES a.cc … DEPS lib … [OWN_FLAGS])
# A folder without .cc files yet becomes an interface library. OWN_FLAGS: some sources have compiler
# flags of their own, so that the shared precompiled header does not fit them.
function(kantha_library name)
  cmake_parse_arguments(ARG "OWN_FLAGS" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC kantha_flags ${ARG_DEPS})
    if(KANTHA_PCH AND NOT ARG_OWN_FLAGS)
      target_precompile_headers(${name} REUSE_FROM kantha_pch)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE kantha_flags ${ARG_DEPS})
  endif()
endfunction()

# kantha_program(NAME SOURCES main.cc DEPS lib …): a binary in <build>/bin, and part of what tests that
# are scripts start, `kantha_programs`.
add_custom_target(kantha_programs)
function(kantha_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kantha_flags ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  add_dependencies(kantha_programs ${name})
  if(NOT name MATCHES "-fake-")
    install(TARGETS ${name})
  endif()
endfunction()

# kantha_test(NAME SOURCES x_test.cc DEPS lib … [LABELS l …] [TIMEOUT s] [NEEDS_MODEL] [PROGRAMS target …]
#   [OPTIMISED])
# One ctest entry per binary. NEEDS_MODEL passes the test model's path in KANTHA_TEST_MODEL;
# PROGRAMS are built first and their folder is passed in KANTHA_BIN_DIR. OPTIMISED: the test itself works
# for seconds, as properties and models do, and not only what it calls.
function(kantha_test name)
  cmake_parse_arguments(ARG "NEEDS_MODEL;OPTIMISED" "TIMEOUT" "SOURCES;DEPS;LABELS;PROGRAMS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kantha_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  set(headers kantha_pch)
  if(NOT ARG_OPTIMISED)
    # Tables of cases run once: optimising them was half of what a test cost to build.
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
    set(headers kantha_test_pch)
  endif()
  target_compile_options(${name} PRIVATE -fPIC)
  if(KANTHA_PCH)
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)  # ends what hangs; a slow machine with sanitizers may need 120
  endif()
  set(environment "KANTHA_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
  if(KANTHA_SANITIZE)
    list(APPEND environment ${KANTHA_SANITIZER_OPTIONS})
  endif()
  if(ARG_NEEDS_MODEL)
    kantha_model_dir(models)
    list(APPEND environment "KANTHA_TEST_MODEL=${models}/SmolLM2-135M-Instruct.Q4_1.gguf")
  endif()
  if(ARG_PROGRAMS)
    add_dependencies(${name} ${ARG_PROGRAMS})
    list(APPEND environment "KANTHA_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                                          ENVIRONMENT "${environment}")
endfunction()

# kantha_fuzzers(SOURCES a_fuzz.cc … DEPS lib … FUZZES lib …): of each source a libFuzzer program of its name
# in <build>/fuzz and a ctest entry of a minute (tests/fuzz/README.md), where the address sanitizer is on.
# FUZZES are the libraries whose branches libFuzzer watches; they keep serving the other tests.
function(kantha_fuzzers)
  if(NOT KANTHA_SANITIZE MATCHES address)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;FUZZES" ${ARGN})
  foreach(library ${ARG_FUZZES})
    target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
    if(KANTHA_PCH)
      set_target_properties(${library} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM kantha_fuzz_pch)
    endif()
  endforeach()
  foreach(source ${ARG_SOURCES})
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_libraries(${name} PRIVATE kantha_flags kantha_fuzz_main ${ARG_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/scripts/fuzz --built $<TARGET_FILE:${name}> 60)
    set_tests_properties(${name} PROPERTIES TIMEOUT 240 LABELS fuzz
      ENVIRONMENT "KANTHA_SOURCE_DIR=${CMAKE_SOURCE_DIR};${KANTHA_SANITIZER_OPTIONS}")
  endforeach()
endfunction()

# Where scripts/fetch-model puts models.
function(kantha_model_dir result)
  if(KANTHA_MODEL_DIR)
    set(dir ${KANTHA_MODEL_DIR})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(dir $ENV{XDG_CACHE_HOME}/kantha/models)
  else()
    set(dir $ENV{HOME}/.cache/kantha/models)
  endif()
  set(${result} ${dir} PARENT_SCOPE)
endfunction()
