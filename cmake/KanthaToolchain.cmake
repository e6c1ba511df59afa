# How our own code is compiled: C++23, warnings as errors, ccache, lld, sanitizers.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "Kantha is built with Clang 19 (GCC 12 destroys some coroutine temporaries twice); "
                      "use a preset, or set CMAKE_CXX_COMPILER=clang++-19")
endif()

find_program(KANTHA_CCACHE ccache)
if(KANTHA_CCACHE)
  # Paths relative to the source tree, so that clones share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
                                  CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros,pch_defines ${KANTHA_CCACHE})
endif()

# What every target of ours gets; third-party headers are system headers and stay silent.
add_library(kantha_flags INTERFACE)
target_include_directories(kantha_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(kantha_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wvla
                                              -Walloca -Wimplicit-fallthrough -Werror
                                              -fno-omit-frame-pointer)
target_link_options(kantha_flags INTERFACE -fuse-ld=lld)
# Bits of a float result must not depend on whether the compiler fused a multiply and an add.
target_compile_options(kantha_flags INTERFACE -ffp-contract=off)

if(KANTHA_SANITIZE)
  target_compile_options(kantha_flags INTERFACE -fsanitize=${KANTHA_SANITIZE}
                                                -fno-sanitize-recover=all)
  if(KANTHA_SANITIZE MATCHES address AND KANTHA_SANITIZE MATCHES undefined)
    # A check before each access and each step of a pointer: a fifth of what a file costs to compile,
    # for what the address sanitizer reports at the access itself.
    target_compile_options(kantha_flags INTERFACE -fno-sanitize=null,object-size,vptr,pointer-overflow)
  endif()
  target_link_options(kantha_flags INTERFACE -fsanitize=${KANTHA_SANITIZE})
  # For the tests' environment; what is suppressed, and why, stands in the files.
  set(KANTHA_SUPPRESSIONS ${CMAKE_SOURCE_DIR}/tests/sanitizers)
  set(KANTHA_SANITIZER_OPTIONS
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "LSAN_OPTIONS=suppressions=${KANTHA_SUPPRESSIONS}/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${KANTHA_SUPPRESSIONS}/tsan.supp")
  find_program(KANTHA_SYMBOLIZER llvm-symbolizer-19)
  if(KANTHA_SYMBOLIZER)
    foreach(sanitizer ASAN LSAN UBSAN TSAN)
      list(APPEND KANTHA_SANITIZER_OPTIONS ${sanitizer}_SYMBOLIZER_PATH=${KANTHA_SYMBOLIZER})
    endforeach()
  endif()
endif()

if(KANTHA_PCH)
  # Most of a cold build is the same few headers, read again for every file: read them once. Every
  # target that shares the result needs the same definitions, so that those of Asio and fmt are global.
  target_compile_definitions(kantha_flags INTERFACE BOOST_ASIO_HAS_CO_AWAIT
    BOOST_ASIO_HAS_STD_COROUTINE BOOST_ASIO_NO_DEPRECATED FMT_SHARED)
  # ccache compares contents, not times.
  target_compile_options(kantha_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
