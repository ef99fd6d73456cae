# Finds what the Python package needs, and the functions that build its parts.
#
#   tessera_find_python(reason)   sets `reason` to what is missing, or to ""

set(TESSERA_BUILD_PYTHON AUTO CACHE STRING
  "Build the Python package: ON, OFF, or AUTO, if what it needs is found")
set_property(CACHE TESSERA_BUILD_PYTHON PROPERTY STRINGS AUTO ON OFF)
set(TESSERA_MLIR_PYTHON_SOURCES "" CACHE PATH
  "The folder with MLIRPythonExtension.Core and the other sources of MLIR's \
Python bindings; by default taken from build/downloads or the Python package")

# The Python that the package is for: the one of the tests, if it is there.
macro(tessera_find_python reason)
  set(${reason} "")
  if(NOT Python_EXECUTABLE AND TESSERA_PYTHON)
    set(Python_EXECUTABLE ${TESSERA_PYTHON})
  elseif(NOT Python_EXECUTABLE
         AND EXISTS ${PROJECT_SOURCE_DIR}/build/venv/bin/python3)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/build/venv/bin/python3)
  endif()
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT Python_FOUND)
    set(${reason} "no Python 3.10 or later with its headers")
  else()
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c
        "import nanobind; print(nanobind.cmake_dir(), end='')"
      OUTPUT_VARIABLE tessera_nanobind_dir ERROR_QUIET)
    find_package(nanobind 2.9 QUIET CONFIG HINTS ${tessera_nanobind_dir}
                 NO_DEFAULT_PATH)
    if(NOT nanobind_FOUND)
      set(${reason} "no nanobind in ${Python_EXECUTABLE}")
    else()
      tessera_find_mlir_python_sources()
      if(NOT TESSERA_MLIR_PYTHON_DIR)
        set(${reason} "no sources of MLIR's Python bindings: \
scripts/test.sh downloads them, or set TESSERA_MLIR_PYTHON_SOURCES")
      endif()
    endif()
  endif()
endmacro()

# Sets TESSERA_MLIR_PYTHON_DIR: the folder that was given, or what is unpacked
# from the wheel of python/mlir-sources.txt, or where pip installed that wheel.
function(tessera_find_mlir_python_sources)
  file(STRINGS ${PROJECT_SOURCE_DIR}/python/mlir-sources.txt requirement
       REGEX "^xtc-mlir-dev==")
  string(REGEX REPLACE "^xtc-mlir-dev==([0-9.]+).*" "\\1" version
         "${requirement}")
  file(GLOB wheels
       ${PROJECT_SOURCE_DIR}/build/downloads/xtc_mlir_dev-${version}-*.whl)
  set(unpacked ${PROJECT_BINARY_DIR}/mlir-python-${version})
  if(wheels AND NOT TESSERA_MLIR_PYTHON_SOURCES
     AND NOT EXISTS ${unpacked}/complete)
    list(GET wheels 0 wheel)
    message(STATUS "Unpacking the sources of MLIR's Python bindings")
    file(REMOVE_RECURSE ${unpacked})
    file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${unpacked}
         PATTERNS "mlir/src/python/*")
    file(TOUCH ${unpacked}/complete)
  endif()
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u; print(*u.find_spec('mlir').submodule_search_locations, end='')"
    OUTPUT_VARIABLE installed ERROR_QUIET)
  set(TESSERA_MLIR_PYTHON_DIR "" PARENT_SCOPE)
  foreach(folder "${TESSERA_MLIR_PYTHON_SOURCES}" ${unpacked}/mlir/src/python
          "${installed}/src/python")
    if(EXISTS ${folder}/MLIRPythonExtension.Core/MainModule.cpp)
      set(TESSERA_MLIR_PYTHON_DIR ${folder} PARENT_SCOPE)
      break()
    endif()
  endforeach()
endfunction()

# Options of a library in `folder` of the package. They are nanobind's choices,
# not LLVM's: exceptions cross it; and FOREIGN sources are not ours to warn about.
function(tessera_python_options name folder)
  cmake_parse_arguments(ARG "FOREIGN" "" "" ${ARGN})
  target_compile_definitions(${name} PRIVATE
    MLIR_PYTHON_PACKAGE_PREFIX=tessera.
    MLIR_BINDINGS_PYTHON_DOMAIN=tessera)
  target_compile_options(${name} PRIVATE -frtti -fexceptions)
  if(ARG_FOREIGN)
    target_compile_options(${name} PRIVATE -w)
  else()
    target_compile_options(${name} PRIVATE -Wall -Wextra)
    if(TESSERA_WERROR)
      target_compile_options(${name} PRIVATE -Werror)
    endif()
    target_compile_options(${name} PRIVATE ${TESSERA_SANITIZER_FLAGS})
  endif()
  # What is Python's own is in the interpreter.
  target_link_options(${name} PRIVATE LINKER:-z,undefs)
  # The package's shared libraries are in _mlir_libs; libtessera-c.so is there
  # too, or in the prefix's library folder.
  set(here /${TESSERA_PYTHON_INSTALL_DIR}/${folder})
  file(RELATIVE_PATH to_libs
    ${here} /${TESSERA_PYTHON_INSTALL_DIR}/_mlir_libs)
  file(RELATIVE_PATH to_prefix ${here} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${TESSERA_PYTHON_PACKAGE_DIR}/${folder}
    INTERPROCEDURAL_OPTIMIZATION_RELEASE OFF
    BUILD_RPATH "$ORIGIN/${to_libs}"
    INSTALL_RPATH "$ORIGIN/${to_libs};$ORIGIN/${to_prefix}"
    INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${name}
    LIBRARY DESTINATION ${TESSERA_PYTHON_INSTALL_DIR}/${folder}
    COMPONENT TesseraPython)
  set_property(GLOBAL APPEND PROPERTY TESSERA_PYTHON_TARGETS ${name})
endfunction()

# tessera_add_python_extension(name sources... [FOLDER folder] [FOREIGN]
#                              [LINK libraries...])
# An extension module over the C API, in a folder of the package, _mlir_libs
# unless said. FOREIGN sources are not ours.
function(tessera_add_python_extension name)
  cmake_parse_arguments(ARG "FOREIGN" "FOLDER" "LINK" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER _mlir_libs)
  endif()
  if(ARG_FOREIGN)
    set(foreign FOREIGN)
  endif()
  set(target TesseraPython-${name})
  nanobind_add_module(${target} NB_SHARED NB_DOMAIN tessera
    NB_SUPPRESS_WARNINGS ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(${target} PRIVATE tessera-c ${ARG_LINK})
  tessera_python_options(${target} ${ARG_FOLDER} ${foreign})
endfunction()
