# Functions for the project's own targets: one set of flags, plain CMake below.

# Compiled functions carry no type in front of them for the sanitizer "function"
# to read.
set(TESSERA_SANITIZER_FLAGS)
if(TESSERA_SANITIZE)
  set(TESSERA_SANITIZER_FLAGS -fsanitize=${TESSERA_SANITIZE}
    -fno-sanitize=function -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()

# Flags that every target gets: LLVM's own choice of RTTI and exceptions,
# warnings, and the sanitizers asked for.
function(tessera_target_options name)
  llvm_update_compile_flags(${name})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  # g++ sees uninitialized values where LLVM's optional types are.
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(TESSERA_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(NOT LLVM_ENABLE_ASSERTIONS)
    target_compile_options(${name} PRIVATE 
      "$<$<CONFIG:Debug>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/StatisticsOfRelease.h>")
  endif()
  target_compile_options(${name} PRIVATE ${TESSERA_SANITIZER_FLAGS})
  if(TESSERA_SANITIZE)
    target_link_options(${name} PUBLIC -fsanitize=${TESSERA_SANITIZE})
  endif()
endfunction()

# tessera_add_library(Name sources... [DEPENDS targets...] [LINK libraries...])
# A static library of the project. DEPENDS are generated headers.
function(tessera_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  tessera_target_options(${name})
  set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES ${name})
endfunction()

# tessera_add_tool(name sources... [LINK libraries...])
function(tessera_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  tessera_target_options(${name})
  set_property(GLOBAL APPEND PROPERTY TESSERA_TOOLS ${name})
endfunction()

# tessera_add_plugin(Name sources... [LINK libraries...]): <build>/lib/Name.so,
# for the options --load-dialect-plugin and --load-pass-plugin.
function(tessera_add_plugin name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES PREFIX "")
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  tessera_target_options(${name})
  set_property(GLOBAL APPEND PROPERTY TESSERA_PLUGINS ${name})
endfunction()

# tessera_add_unittest(name sources... [LINK libraries...]): a GoogleTest
# program in <build>/unittests, run by the target check-tessera. The tests find
# it by its name, which ends in Tests.
function(tessera_add_unittest name)
  if(NOT name MATCHES "Tests$")
    message(FATAL_ERROR "the unit test ${name} must be named ...Tests")
  endif()
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock
                        GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/unittests)
  tessera_target_options(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  set_property(GLOBAL APPEND PROPERTY TESSERA_UNITTESTS ${name})
endfunction()

# tessera_add_capi_test(name sources.c... [LINK library]): a C program over
# libtessera-c.so, or another library of the C API, for a test of test/CAPI to
# run.
function(tessera_add_capi_test name)
  cmake_parse_arguments(ARG "" "LINK" "" ${ARGN})
  if(NOT ARG_LINK)
    set(ARG_LINK tessera-c)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
  target_compile_options(${name} PRIVATE -Wall -Wextra -pedantic)
  if(TESSERA_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  target_compile_options(${name} PRIVATE ${TESSERA_SANITIZER_FLAGS})
  set_property(GLOBAL APPEND PROPERTY TESSERA_CAPI_TESTS ${name})
endfunction()

# tessera_add_doc(Page file.td generator arguments...): the page
# <build>/docs/Page.md, by mlir-tblgen, of the target tessera-doc.
function(tessera_add_doc page td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  tablegen(MLIR ${page}.md ${ARGN})
  set(output ${PROJECT_BINARY_DIR}/docs/${page}.md)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E copy
      ${CMAKE_CURRENT_BINARY_DIR}/${page}.md ${output}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${page}.md)
  add_custom_target(tessera-doc-${page} DEPENDS ${output})
  add_dependencies(tessera-doc tessera-doc-${page})
endfunction()
