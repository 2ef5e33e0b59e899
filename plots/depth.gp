data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
load "key.gp"
stats data using (column("p95_ms")) nooutput
hi = STATS_max
stats data using (column("depth")) nooutput
from = STATS_min - 1; to = STATS_max + 1
stats data using (column("median_ms")) nooutput
set xrange [from:to]
if (hi > 20 * STATS_median && STATS_min > 0) { # one long pause, and all else a line along the bottom
    set logscale y 10
    set yrange [STATS_min / 1.5:hi * 1.5]
} else {
    set yrange [0:hi * 1.08]
}
set style fill transparent solid 0.25 noborder
set multiplot layout 1, panels margins 0.1, 0.97, 0.145, panel_top spacing 0.06, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set xlabel "past tokens behind it"
    if (p) { unset ylabel } else { set ylabel "time of a token (ms)" }
    plot for [s = 0:series - 1] data using (only(here(p, s) && format ne "dumb", column("depth"))):(column("p5_ms")):(column("p95_ms")) \
            with filledcurves lc rgb colour(s), \
        for [s = 0:series - 1] data using (only(here(p, s), column("depth"))):(column("median_ms")) \
            with linespoints lw 2 pt mark(s) ps 0.8 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p, column("depth"))):(column("median_ms")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
