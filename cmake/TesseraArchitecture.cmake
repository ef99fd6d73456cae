# Which library links to which, as a diagram: build/<preset>/docs/libraries.mmd.
# docs/Architecture.md shows it, and a test holds the two to each other.

get_property(libraries GLOBAL PROPERTY TESSERA_LIBRARIES)
list(SORT libraries)
set(diagram "graph BT\n")
foreach(library IN LISTS libraries)
  get_target_property(source_dir ${library} SOURCE_DIR)
  string(FIND ${source_dir} ${PROJECT_SOURCE_DIR}/lib position)
  if(NOT position EQUAL 0)
    continue()
  endif()
  get_target_property(links ${library} LINK_LIBRARIES)
  list(REMOVE_DUPLICATES links)
  list(SORT links)
  foreach(link IN LISTS links)
    # MLIR brings LLVM with it, and no arrow says more than that.
    if(link IN_LIST libraries OR link STREQUAL MLIR
       OR (link STREQUAL LLVM AND NOT MLIR IN_LIST links))
      string(APPEND diagram "  ${library} --> ${link}\n")
    endif()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/docs/libraries.mmd
  CONTENT "${diagram}" @ONLY)
