data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
load "key.gp"
set xlabel "token of the generation"
set ylabel "time of the token (ms)"
stats data using (column("token")) nooutput
tokens = STATS_max
stats data using (column("token_ms")) nooutput
set xrange [0:tokens + 1]
if (STATS_max > 20 * STATS_median && STATS_min > 0) { # one long pause, and all else a line along the bottom
    set logscale y 10
    set yrange [STATS_min / 1.5:STATS_max * 1.5]
} else {
    set yrange [0:*]
}
set lmargin at screen 0.1; set rmargin at screen 0.97; set tmargin at screen panel_top + 0.03; set bmargin at screen 0.145
first(s) = only(here(0, s) && column("generation") == 1, column("token"))
plot for [s = 0:series - 1] data using (only(here(0, s), column("token"))):(column("token_ms")) \
        with points pt mark(s) ps 0.6 lc rgb light(s), \
    for [s = 0:series - 1] data using (first(s)):(column("median_ms")) \
        with lines lw 2.2 lc rgb colour(s), \
    for [s = 0:series - 1] data using (first(s)):(column("p95_ms")) \
        with lines lw 1.5 dt 2 lc rgb colour(s)
