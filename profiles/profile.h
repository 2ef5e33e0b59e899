/* profile.h - the command slotmark profile. */
#ifndef SM_PROFILE_H
#define SM_PROFILE_H

/* The exit code: 0; 2 bad input, with a sentence on stderr; 130 interrupted. */
int profile_main(int argc, char **argv);

#endif
