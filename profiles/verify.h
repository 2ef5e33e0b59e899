/* verify.h - the command slotmark verify. */
#ifndef SM_VERIFY_H
#define SM_VERIFY_H

/* The exit code: 0 within the limits; 1 outside; 2 bad input, with a sentence on stderr; 130 interrupted. */
int verify_main(int argc, char **argv);

#endif
