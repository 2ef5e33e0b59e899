#include "stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop;
static struct sigaction was_int, was_term;

static void on_signal(int signal)
{
    (void)signal;
    stop = 1;
}

void sm_stop_catch(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    stop = 0;
    sigaction(SIGINT, &act, &was_int);
    sigaction(SIGTERM, &act, &was_term);
}

void sm_stop_release(void)
{
    sigaction(SIGINT, &was_int, NULL);
    sigaction(SIGTERM, &was_term, NULL);
}

bool sm_stopped(void)
{
    return stop;
}
