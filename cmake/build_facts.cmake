# Run at every build (cmake -P): writes what this build is made of, and only when it changed.
# In: SOURCE_DIR, TEMPLATE, OUTPUT, VERSION, COMPILER, FLAGS, TYPE. A tree without its own git gives NULL.
set(FACT_VERSION "\"${VERSION}\"")
set(FACT_COMMIT NULL)
set(FACT_DIRTY -1)
find_program(GIT git)
if(GIT)
  # An unpacked archive inside somebody else's repository is not that repository's commit.
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse --show-cdup OUTPUT_VARIABLE above ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(NOT failed AND above STREQUAL "")
    execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(NOT failed)
      set(FACT_COMMIT "\"${commit}\"")
      execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} --no-optional-locks status --porcelain --untracked-files=no
                      OUTPUT_VARIABLE changes ERROR_QUIET RESULT_VARIABLE failed)
      if(NOT failed)
        if(changes STREQUAL "")
          set(FACT_DIRTY 0)
        else()
          set(FACT_DIRTY 1)
        endif()
      endif()
      execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} describe --tags --always --match v* OUTPUT_VARIABLE described
                      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
      if(NOT failed)
        set(FACT_VERSION "\"${VERSION} (${described})\"")
      endif()
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
