data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
curve(s, least, most) = here(0, s) && column("how") >= least && column("how") <= most
bytes(b) = b < 1023.5 ? sprintf("%g B", b) : b < 1048000 ? sprintf("%g KiB", b / 1024) : \
           b < 1073000000 ? sprintf("%g MiB", b / 1048576) : sprintf("%g GiB", b / 1073741824)
stats data using (only(column("panel") == 0, column("low"))):(only(column("panel") == 0, column("high"))) nooutput
lo = STATS_min_x; hi = STATS_max_y
stats data using (column("max_seq")) nooutput
set logscale x 2
set xrange [STATS_min / 1.2:STATS_max * 1.2]
set xtics ()
do for [e = 1:20] { if (e % 2) { set xtics add (sprintf("%d", 2 ** e) 2 ** e) } }
load "key.gp"
set xlabel "max_seq (slots)"
set style fill solid 1 noborder
set multiplot layout 1, panels margins 0.09, 0.97, 0.145, panel_top spacing 0.11, 0.1
load "time_tics.gp"
set title "a decode: points measured, lines by the curve" offset 0, -0.6 font ",12"
plot for [s = 0:1] data using (only(curve(s, 1, 2), column("max_seq"))):(column("low")):(column("high")) \
        with filledcurves fc rgb light(s) fs transparent solid 0.4 noborder, \
    for [s = 0:1] data using (only(curve(s, 1, 2), column("max_seq"))):(column("value")) with lines dt 3 lw 1.6 lc rgb colour(s), \
    for [s = 0:1] data using (only(curve(s, 1, 1), column("max_seq"))):(column("value")) with lines lw 2.2 lc rgb colour(s), \
    for [s = 0:1] data using (only(curve(s, 0, 0), column("max_seq"))):(column("value")):(column("low")):(column("high")) \
        with yerrorbars lw 2 pt mark(s) ps 1.1 lc rgb colour(s), \
    for [k = 1:linked] data using (only(curve(0, 0, 0) || curve(1, 0, 0), column("max_seq"))):(column("value")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
unset label
if (panels > 1) {
    set yrange [*:*]
    stats data using (only(column("panel") == 1, column("value"))) nooutput
    set logscale y 2
    set yrange [STATS_min / 2:STATS_max * 2]
    set ytics ()
    do for [e = int(floor(log(STATS_min) / log(2))) : int(ceil(log(STATS_max) / log(2)))] {
        if (e % 4 == 0) { set ytics add (bytes(2.0 ** e) 2.0 ** e) }
    }
    set title "memory, from the runtime" offset 0, -0.6 font ",12"
    plot for [s = 2:3] data using (only(here(1, s), column("max_seq"))):(column("value")) \
        with linespoints lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == 1, column("max_seq"))):(column("value")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
}
unset multiplot
