#include "guard.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD_BYTE 0xa5
#define GUARD_BYTES 256 /* before the buffer; a multiple of every alignment below it is kept by rounding */

/* All its pages come with one call: one by one they would cost a guest several times what filling them does. */
#define FAULTED_AT_ONCE ((size_t)1 << 16)

/* The size of a huge page here. */
#define HUGE_PAGE ((size_t)2 << 20)

static size_t slack;

void sm_guarded_loosen(void)
{
    slack = SM_GUARD_SLACK;
}

/* For timing, a buffer of huge pages begins with one. */
static void *map_huge(size_t bytes)
{
    uint8_t *map = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return map;
    const size_t before = (0 - (uintptr_t)map) % HUGE_PAGE;
    if (before) munmap(map, before);
    munmap(map + before + bytes, HUGE_PAGE - before);
    (void)madvise(map + before, bytes, MADV_HUGEPAGE);
    (void)madvise(map + before, bytes, MADV_POPULATE_WRITE); /* older kernels do it page by page when it is filled */
    return map + before;
}

static void *map_pages(size_t bytes)
{
    if (slack && bytes >= HUGE_PAGE) return map_huge(bytes);
    const int at_once = bytes >= FAULTED_AT_ONCE ? MAP_POPULATE : 0;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | at_once, -1, 0);
}

int sm_guarded_create(struct sm_guarded *g, size_t bytes, size_t align)
{
    memset(g, 0, sizeof *g);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX / 2) return -1;
    const size_t room = (bytes + slack + align - 1) / align * align;
    const size_t body = (room + GUARD_BYTES + page - 1) / page * page;
    uint8_t *map = map_pages(body + page);
    if (map == MAP_FAILED) return -1;
    if (mprotect(map + body, page, PROT_NONE)) {
        munmap(map, body + page);
        return -1;
    }
    g->map = map;
    g->map_bytes = body + page;
    g->data = map + body - room;
    g->bytes = bytes;
    memset((uint8_t *)g->data - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES);
    memset((uint8_t *)g->data + bytes, GUARD_BYTE, room - bytes);
    return 0;
}

int sm_guarded_intact(const struct sm_guarded *g)
{
    const uint8_t *begin = g->data;
    const uint8_t *end = (const uint8_t *)g->map + g->map_bytes - (size_t)sysconf(_SC_PAGESIZE);
    for (const uint8_t *p = begin - GUARD_BYTES; p < begin; p++)
        if (*p != GUARD_BYTE) return -1;
    for (const uint8_t *p = begin + g->bytes; p < end; p++)
        if (*p != GUARD_BYTE) return -1;
    return 0;
}

/* FNV-1a over words: four hashes side by side, each of every fourth word, since one waits for its own multiply;
 * then the bytes that are left. */
uint64_t sm_guarded_hash(const struct sm_guarded *g)
{
    enum { LANES = 4 };
    uint64_t lane[LANES] = {1469598103934665603u, 2, 3, 4};
    const uint8_t *p = g->data;
    size_t left = g->bytes;
    for (; left >= 8 * LANES; left -= 8 * LANES, p += 8 * LANES) {
        uint64_t word[LANES];
        memcpy(word, p, sizeof word);
        for (int i = 0; i < LANES; i++) {
            lane[i] = (lane[i] ^ word[i]) * 1099511628211u;
            lane[i] ^= lane[i] >> 29;
        }
    }
    uint64_t h = lane[0];
    for (int i = 1; i < LANES; i++) h = (h ^ lane[i]) * 1099511628211u;
    for (; left; left--, p++) h = (h ^ *p) * 1099511628211u;
    return h;
}

void sm_guarded_poison(struct sm_guarded *g)
{
    memset(g->data, 0xff, g->bytes);
}

void sm_guarded_destroy(struct sm_guarded *g)
{
    if (g->map) munmap(g->map, g->map_bytes);
    memset(g, 0, sizeof *g);
}
