#include "preparing.h"

#include "clock.h"

#define SHOWN_AFTER_NS 2000000000

void sm_preparing_begin(struct sm_preparing *p, FILE *progress, const char *what)
{
    p->what = what;
    p->began = sm_clock_ns();
    sm_progress_begin(&p->progress, progress, 1);
}

void sm_preparing_show(void *preparing, double share)
{
    struct sm_preparing *p = preparing;
    if (sm_clock_ns() - p->began > SHOWN_AFTER_NS) sm_progress_show(&p->progress, share, p->what);
}

void sm_preparing_end(struct sm_preparing *p)
{
    sm_progress_clear(&p->progress);
}
