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

install(TARGETS ${TESSERA_EXPORTED_LIBRARIES} EXPORT TesseraTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(installed_tools)
  install(TARGETS ${installed_tools} DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(installed_plugins)
  install(TARGETS ${installed_plugins} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# Public headers, the TableGen sources, and what was generated from them.
install(DIRECTORY include/tessera include/tessera-c
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/tessera
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)

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
install(EXPORT TesseraTargets DESTINATION ${config_dir})
export(EXPORT TesseraTargets
  FILE ${PROJECT_BINARY_DIR}/lib/cmake/tessera/TesseraTargets.cmake)
