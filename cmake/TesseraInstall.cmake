# What `cmake --install` puts where, and the package that other projects find by
# find_package(Tessera), in the build tree and in an installed one.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# Libraries and tools of these folders; those of test/ stay at home.
function(tessera_targets_below out property folder)
  get_property(targets GLOBAL PROPERTY ${property})
  set(result)
  foreach(target IN LISTS targets)
    get_target_property(source_dir ${target} SOURCE_DIR)
    string(FIND ${source_dir} ${PROJECT_SOURCE_DIR}/${folder} position)
    if(position EQUAL 0)
      list(APPEND result ${target})
    endif()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

tessera_targets_below(TESSERA_EXPORTED_LIBRARIES TESSERA_LIBRARIES lib)
tessera_targets_below(installed_tools TESSERA_TOOLS tools)
tessera_targets_below(installed_plugins TESSERA_PLUGINS tools)

# Three components: Runtime is libtessera-runtime alone, which needs nothing; Layout
# has the libraries that need no MLIR, Dialects all others.
function(tessera_needs_mlir out library)
  get_target_property(links ${library} LINK_LIBRARIES)
  set(result FALSE)
  foreach(link IN LISTS links)
    if(link STREQUAL MLIR)
      set(result TRUE)
    elseif(link IN_LIST TESSERA_EXPORTED_LIBRARIES AND NOT result)
      tessera_needs_mlir(result ${link})
    endif()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

set(TESSERA_COMPONENTS Layout Dialects)
if(TARGET tessera-runtime)
  list(APPEND TESSERA_COMPONENTS Runtime)
  set(TESSERA_Runtime_LIBRARIES tessera-runtime)
endif()
foreach(library IN LISTS TESSERA_EXPORTED_LIBRARIES)
  tessera_needs_mlir(needs_mlir ${library})
  if(needs_mlir)
    list(APPEND TESSERA_Dialects_LIBRARIES ${library})
  else()
    list(APPEND TESSERA_Layout_LIBRARIES ${library})
  endif()
endforeach()

foreach(component IN LISTS TESSERA_COMPONENTS)
  install(TARGETS ${TESSERA_${component}_LIBRARIES}
    EXPORT Tessera${component}Targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
if(installed_tools)
  install(TARGETS ${installed_tools} DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(installed_plugins)
  install(TARGETS ${installed_plugins} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# Public headers, the TableGen sources, and what was generated from them.
install(DIRECTORY include/tessera include/tessera-c
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/tessera
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)

# For who asks pkg-config; relative to where the file lies.
if(TARGET tessera-runtime)
  file(RELATIVE_PATH TESSERA_PC_PREFIX
    /prefix/${CMAKE_INSTALL_LIBDIR} /prefix)
  configure_file(cmake/tessera-runtime.pc.in
    ${PROJECT_BINARY_DIR}/lib/pkgconfig/tessera-runtime.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/lib/pkgconfig/tessera-runtime.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The package, twice.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/lib/cmake/tessera/TesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/TesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lib/cmake/tessera/TesseraConfig.cmake
  INSTALL_DESTINATION ${config_dir})
install(FILES
  ${PROJECT_BINARY_DIR}/lib/cmake/tessera/TesseraConfig.cmake
  ${PROJECT_BINARY_DIR}/lib/cmake/tessera/TesseraConfigVersion.cmake
  DESTINATION ${config_dir})
foreach(component IN LISTS TESSERA_COMPONENTS)
  install(EXPORT Tessera${component}Targets DESTINATION ${config_dir})
  export(EXPORT Tessera${component}Targets
    FILE ${PROJECT_BINARY_DIR}/lib/cmake/tessera/Tessera${component}Targets.cmake)
endforeach()
