/* model_answers.h - whether two builds say the same, before anybody asks which is faster. Private to models. */
#ifndef SM_MODEL_ANSWERS_H
#define SM_MODEL_ANSWERS_H

#include <stddef.h>

#include "command.h"
#include "models.h"
#include "record.h"

struct sm_model_side {
    const struct sm_arm *arm;
    char program[SM_ARM_PATH];
};

enum sm_model_answers { SM_MODEL_ANSWERS_ALIKE, SM_MODEL_ANSWERS_DIFFER, SM_MODEL_SAME_PROGRAM };

/* The first words of a side's command line: program, plug-in, command, model, forced variant. Returns how many. */
size_t sm_model_begin(const struct sm_model_side *side, const char *command, const char *model, const char **argv);

/* Of a file of words. "" when there is none. */
void sm_model_last_line(const char *path, char *text, size_t bytes);

/* Both decode greedily from the same prompt. Tokens that differ are accepted when `slotmark verify` of B finds it
 * within the limits of its recipe, and `note` says so; else `reason` does. */
enum sm_model_answers sm_model_answers(const struct sm_model_side side[2], const struct sm_models_request *request,
                                       const char *folder, char note[200], char *reason, size_t reason_bytes);

#endif
