# Tests of the tree itself, and the generic test on each level of instruction sets.

# The laws that no compiler checks, and whether that check sees a breach.
add_test(NAME law COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/law ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/kernels/CMakeFiles/slotmark_kernels.dir)
add_test(NAME law_selftest COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/law_selftest ${PROJECT_SOURCE_DIR})

# Registers that a compiler ran out of in a hot loop: kernels/spills.def; `--target spills` shows them. 77: another compiler.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND CMAKE_BUILD_TYPE STREQUAL Release AND NOT SM_SANITIZE)
  add_test(NAME spills_selftest COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/spills ${PROJECT_SOURCE_DIR} selftest)
  string(REGEX REPLACE "\\..*" "" compiler "${CMAKE_C_COMPILER_ID}${CMAKE_C_COMPILER_VERSION}")
  string(TOLOWER "${compiler}" compiler)
  string(REPLACE "gnu" "gcc" compiler "${compiler}")
  set(spills ${CMAKE_CURRENT_SOURCE_DIR}/spills ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR}/kernels/CMakeFiles/slotmark_kernels.dir ${compiler})
  add_test(NAME spills COMMAND ${spills})
  set_tests_properties(spills PROPERTIES SKIP_RETURN_CODE 77)
  add_custom_target(spills COMMAND ${spills} VERBATIM)
  add_dependencies(spills slotmark_kernels)
endif()

if(NOT SM_SANITIZE)
  add_test(NAME add_variant COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/add_variant ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR})
  set_tests_properties(add_variant PROPERTIES LABELS slow)
endif()

# Each level that SLOTMARK_CPU can lower dispatch to, shortly: the test `variants` has run each variant at length.
add_executable(test_dispatch dispatch.c)
target_link_libraries(test_dispatch PRIVATE slotmark_kernels)
foreach(level any avx2 avx512 avx512vnni amx)
  add_test(NAME variants_${level} COMMAND test_variants)
  set_tests_properties(variants_${level} PROPERTIES ENVIRONMENT "SLOTMARK_CPU=${level};SM_SHAPES=12" SKIP_RETURN_CODE 77)
  add_test(NAME dispatch_${level} COMMAND test_dispatch ${level})
  set_tests_properties(dispatch_${level} PROPERTIES ENVIRONMENT SLOTMARK_CPU=${level} SKIP_RETURN_CODE 77)
endforeach()

# The same in emulated CPUs, whose instructions end at the level: one that strays above it is illegal there. Operands
# end before the inaccessible page: qemu 7.2 reads what vmaskmovps masks out.
find_program(QEMU_X86_64 qemu-x86_64)
if(QEMU_X86_64 AND NOT SM_SANITIZE)
  foreach(cpu "any:qemu64,-avx,-avx2" "avx2:max")
    string(REPLACE ":" ";" cpu ${cpu})
    list(POP_FRONT cpu level)
    add_test(NAME qemu_dispatch_${level} COMMAND ${QEMU_X86_64} -cpu ${cpu} $<TARGET_FILE:test_dispatch> ${level})
    add_test(NAME qemu_variants_${level} COMMAND ${QEMU_X86_64} -cpu ${cpu} $<TARGET_FILE:test_variants>)
    set_tests_properties(qemu_variants_${level} PROPERTIES LABELS "slow;long" ENVIRONMENT "SM_SHAPES=4;SM_LOOSE=1")
  endforeach()
endif()

# Every variant through emulated intrinsics takes a minute to build: where this CPU runs them all, only when asked for, as
# scripts/test does.
set(SM_EMULATE AUTO CACHE STRING "build all variants with emulated intrinsics too: ON, OFF, or AUTO: where this CPU lacks an ISA")
set(emulate ${SM_EMULATE})
if(emulate STREQUAL AUTO)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags.* avx512_vnni.* amx_int8" LIMIT_COUNT 1)
  if(flags)
    set(emulate OFF)
  endif()
endif()
if(emulate)
  add_subdirectory(emulate)
endif()
