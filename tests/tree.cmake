# Tests of the tree itself, and the generic test on each level of instruction sets.

# The laws that no compiler checks, and whether that check sees a breach.
add_test(NAME law COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/law ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/kernels/CMakeFiles/slotmark_kernels.dir)
add_test(NAME law_selftest COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/law_selftest ${PROJECT_SOURCE_DIR})

# Each level that SLOTMARK_CPU can lower dispatch to.
foreach(level any avx2 avx512 avx512vnni)
  add_test(NAME variants_${level} COMMAND test_variants)
  set_tests_properties(variants_${level} PROPERTIES ENVIRONMENT SLOTMARK_CPU=${level} SKIP_RETURN_CODE 77)
endforeach()

add_subdirectory(emulate)
