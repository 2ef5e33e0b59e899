#include "change_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

double sm_level(const double *z, size_t begin, size_t end)
{
    if (begin >= end) return NAN;
    double *copy = malloc((end - begin) * sizeof *copy);
    if (!copy) return NAN;
    memcpy(copy, z + begin, (end - begin) * sizeof *copy);
    const double level = sm_median(copy, end - begin);
    free(copy);
    return level;
}

/* The spread of z[i + lag] - z[i]: 1.4826 times the median of its absolute value. */
static double difference_spread(const double *z, size_t n, size_t lag, double *room)
{
    for (size_t i = 0; i + lag < n; i++) room[i] = fabs(z[i + lag] - z[i]);
    return n > lag ? 1.4826 * sm_median(room, n - lag) : 0;
}

static double spread_of(const double *z, size_t n, double *room)
{
    const double one = difference_spread(z, n, 1, room), two = difference_spread(z, n, 2, room);
    const double s = one / sqrt(2);
    if (!(one > 0)) return 0;
    double rho = two * two / (one * one) - 1; /* for an autoregression of order one */
    rho = rho < 0 ? 0 : rho > 0.8 ? 0.8 : rho;
    return s / sqrt(1 - rho) * sqrt((1 + rho) / (1 - rho));
}

/* The sum of |z - median| of a growing segment: two heaps of its lower and upper half. */
struct halves {
    double *low, *high; /* a greatest-first and a least-first heap */
    size_t lows, highs;
    double low_sum, high_sum;
};

/* `sign` +1: least first; -1: greatest first. */
static void push(double *heap, size_t *count, double x, double sign)
{
    size_t i = (*count)++;
    while (i && sign * x < sign * heap[(i - 1) / 2]) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = x;
}

static double pop(double *heap, size_t *count, double sign)
{
    const double top = heap[0], x = heap[--*count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= *count) break;
        if (child + 1 < *count && sign * heap[child + 1] < sign * heap[child]) child++;
        if (sign * x <= sign * heap[child]) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = x;
    return top;
}

static double add(struct halves *h, double x)
{
    if (!h->lows || x <= h->low[0]) {
        push(h->low, &h->lows, x, -1);
        h->low_sum += x;
    } else {
        push(h->high, &h->highs, x, 1);
        h->high_sum += x;
    }
    if (h->lows > h->highs + 1) {
        const double moved = pop(h->low, &h->lows, -1);
        push(h->high, &h->highs, moved, 1);
        h->low_sum -= moved;
        h->high_sum += moved;
    } else if (h->highs > h->lows) {
        const double moved = pop(h->high, &h->highs, 1);
        push(h->low, &h->lows, moved, -1);
        h->high_sum -= moved;
        h->low_sum += moved;
    }
    const double middle = h->low[0];
    return h->high_sum - middle * (double)h->highs + middle * (double)h->lows - h->low_sum;
}

size_t sm_change_points(const double *z, size_t n, double kappa, double noise, size_t *cuts, size_t most)
{
    if (n < 2 * SM_SEGMENT_LEAST) return 0;
    if (n > SM_SERIES_MOST) return (size_t)-1;
    double *room = malloc((4 * n + 4) * sizeof *room);
    size_t *from = malloc((n + 1) * sizeof *from), found = 0;
    if (!room || !from) {
        free(room);
        free(from);
        return (size_t)-1;
    }
    double *best = room + n, *low = room + 2 * n + 1, *high = room + 3 * n + 2;
    const double penalty = kappa * fmax(noise, spread_of(z, n, room)) * log((double)n) + 1e-12;
    best[0] = -penalty;
    for (size_t end = 1; end <= n; end++) {
        struct halves h = {low, high, 0, 0, 0, 0};
        best[end] = INFINITY;
        from[end] = 0;
        for (size_t begin = end; begin-- > 0;) {
            const double cost = add(&h, z[begin]);
            if (end - begin < SM_SEGMENT_LEAST || (begin && begin < SM_SEGMENT_LEAST)) continue;
            const double total = best[begin] + cost + penalty;
            if (total < best[end]) {
                best[end] = total;
                from[end] = begin;
            }
        }
    }
    for (size_t end = n; from[end]; end = from[end]) found++;
    size_t k = found;
    for (size_t end = n; from[end]; end = from[end])
        if (--k < most) cuts[k] = from[end];
    free(room);
    free(from);
    return found;
}
