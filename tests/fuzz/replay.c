/* Gives a fuzz target every file named, or every file of the folders named, and each of them cut short a few times:
 * what a corpus once found stays found in ordinary test runs. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat facts;
    if (!file || fstat(fileno(file), &facts)) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    const size_t size = (size_t)facts.st_size;
    uint8_t *data = malloc(size + 1);
    if (!data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size);
    for (size_t cut = 1; cut < 8; cut++) (void)LLVMFuzzerTestOneInput(data, size * cut / 8);
    free(data);
    replayed++;
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    char inside[4096];
    if (!folder) {
        replay_file(path);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        replay_file(inside);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) replay(argv[i]);
    printf("%zu files replayed\n", replayed);
    return replayed ? 0 : 1;
}
