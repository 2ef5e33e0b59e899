#include "folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figure.h"
#include "page.h"

int sm_folder_choose(const char *out, const char *first, char folder[SM_FOLDER_BYTES])
{
    struct stat info;
    int n;
    if (out)
        n = snprintf(folder, SM_FOLDER_BYTES, "%s", out);
    else if (!stat(first, &info) && S_ISDIR(info.st_mode))
        n = snprintf(folder, SM_FOLDER_BYTES, "%s/figures", first);
    else {
        const char *slash = strrchr(first, '/');
        n = snprintf(folder, SM_FOLDER_BYTES, "%.*sfigures", slash ? (int)(slash + 1 - first) : 0, first);
    }
    return n < 0 || n >= SM_FOLDER_BYTES ? -1 : 0;
}

FILE *sm_folder_open(const char *folder, const char *name, const char *ending, const char *mode)
{
    char path[SM_FOLDER_BYTES + 100];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    return fopen(path, mode);
}

static const char *const endings[] = {"tsv", "svg", "png", "page"}; /* the last of a report, while it is made */
enum { FILES = sizeof endings / sizeof *endings };

static int is_ours(const char *folder)
{
    char start[sizeof SM_PAGE_MARK] = "";
    FILE *index = sm_folder_open(folder, "index", "html", "re");
    if (!index) return 0;
    const size_t n = fread(start, 1, sizeof start - 1, index);
    fclose(index);
    return n == sizeof start - 1 && !memcmp(start, SM_PAGE_MARK, n);
}

int sm_folder_claim(const char *folder, char *why, size_t why_bytes)
{
    if (mkdir(folder, 0777) && errno != EEXIST) {
        snprintf(why, why_bytes, "cannot make the folder %.200s: %s", folder, strerror(errno));
        return -1;
    }
    if (is_ours(folder)) return 0;
    for (size_t i = 0; i < FILES * sm_figure_count; i++) {
        FILE *there = sm_folder_open(folder, sm_figures[i / FILES].name, endings[i % FILES], "re");
        if (!there) continue;
        fclose(there);
        snprintf(why, why_bytes, "%.200s/%s.%s is there already and not ours: give another folder with --out", folder,
                 sm_figures[i / FILES].name, endings[i % FILES]);
        return -1;
    }
    FILE *index = sm_folder_open(folder, "index", "html", "wxe");
    if (!index || fputs(SM_PAGE_MARK, index) == EOF) {
        snprintf(why, why_bytes, "cannot write %.200s/index.html: %s", folder,
                 errno == EEXIST ? "one that is not ours is there: give another folder with --out" : strerror(errno));
        if (index) fclose(index);
        return -1;
    }
    return fclose(index);
}

void sm_folder_clear(const char *folder, const char *name)
{
    for (size_t i = 0; i < FILES; i++) {
        char path[SM_FOLDER_BYTES + 100];
        snprintf(path, sizeof path, "%s/%s.%s", folder, name, endings[i]);
        unlink(path);
    }
}
