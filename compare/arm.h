/* arm.h - one side of a comparison: a build of the kernels, and perhaps one of its variants by name.
 *
 *     HEAD~3, v1.2, main     a revision of the repository that the current folder is in
 *     WORKTREE               that repository's files as they are now, committed or not
 *     path/to/folder         a build folder (lib/libslotmark-kernels.so in it)
 *     path/to/file.so        a shared object of kernels (abi.h), or a plug-in (plugin.h): this program's own build with
 *                            the variants of the plug-in added
 *     .                      this program's own build
 * each with @VARIANT if wanted. Revisions are unpacked and built in a cache, by what matters to them: the tree of the
 * kernels, the compiler and the flags. The checkout, the index, branches and the stash are left alone. */
#ifndef SM_ARM_H
#define SM_ARM_H

#include <stddef.h>
#include <stdio.h>

#define SM_ARM_PATH 1024

struct sm_arm {
    char spec[256];             /* as given, without @variant */
    char variant[64];           /* "" none was given */
    char identity[96];          /* for people: "3d1e07a", "WORKTREE (8be1f03)", the path */
    char object[SM_ARM_PATH];   /* the shared object */
    char objects[SM_ARM_PATH];  /* the folder of the variants' object files, FAMILY/VARIANT.c.o; "": there is none */
    char archives[SM_ARM_PATH]; /* the folder of libslotmark_{kernels,workloads}.a; "": there is none */
    char plugin[SM_ARM_PATH];   /* whose variants are added to those of the object; "": none */
    char built[160];            /* compiler and flags, where known */
};

enum sm_arm_result {
    SM_ARM_OK,
    SM_ARM_BAD /* no such thing: usage */,
    SM_ARM_UNBUILT /* it does not build, or crashes when loaded */,
    SM_ARM_ABSENT /* nobody has built it yet: of sm_arm_find alone */
};

/* Finds or builds it. Progress goes to `out` when it has to build (NULL: silent); `why` gets a sentence. */
enum sm_arm_result sm_arm_get(struct sm_arm *arm, const char *spec, FILE *out, char *why, size_t why_bytes);

/* The same without building: what is not in the cache is SM_ARM_ABSENT, and only its names are filled in. */
enum sm_arm_result sm_arm_find(struct sm_arm *arm, const char *spec, char *why, size_t why_bytes);

/* From now on `.` has the variants of this plug-in (--plugin before the command); of several it is refused. */
void sm_arm_plugin(const char *path);

/* The slotmark program of an arm, for whole models; a revision's is built with all its rooms, which takes minutes once.
 */
enum sm_arm_result sm_arm_program(const struct sm_arm *arm, FILE *out, char *path, size_t bytes, char *why,
                                  size_t why_bytes);

/* The hash of a variant's object file, which calls nothing of ours outside itself: 64 hex digits. -1: not known. */
int sm_arm_code(const struct sm_arm *arm, const char *family, const char *variant, char hash[65]);

/* Copies the shared object, or the plug-in where there is one, to a new file: 0, or -1 and a sentence. */
int sm_arm_copy(const struct sm_arm *arm, const char *to, char *why, size_t why_bytes);
int sm_arm_copy_plugin(const struct sm_arm *arm, const char *to, char *why, size_t why_bytes);

/* Where builds are kept: SLOTMARK_CACHE, else XDG_CACHE_HOME/slotmark, else ~/.cache/slotmark. */
int sm_arm_cache(char *path, size_t bytes);

#endif
