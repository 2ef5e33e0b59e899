/* folder.h - the figures folder: where it is, and that nobody else's file in it is lost. */
#ifndef SM_PLOT_FOLDER_H
#define SM_PLOT_FOLDER_H

#include <stddef.h>
#include <stdio.h>

#define SM_FOLDER_BYTES 3900

/* out where given, else figures/ beside the first result file or in the first folder. -1: too long. */
int sm_folder_choose(const char *out, const char *first, char folder[SM_FOLDER_BYTES]);

/* Makes the folder and marks it as ours (page.h). -1: why says what is in the way. */
int sm_folder_claim(const char *folder, char *why, size_t why_bytes);

/* Takes away table and pictures of one figure, from an earlier run or none. The folder is ours. */
void sm_folder_clear(const char *folder, const char *name);

FILE *sm_folder_open(const char *folder, const char *name, const char *ending, const char *mode);

#endif
