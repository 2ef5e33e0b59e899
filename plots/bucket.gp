data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
stats data using (column("row_low_ns")):(column("row_high_ns")) nooutput
row_lo = STATS_min_x; row_hi = STATS_max_y
stats data using (column("low_ns")):(column("high_ns")) nooutput
lo = STATS_min_x; hi = STATS_max_y
stats data using (column("rows")) nooutput
set logscale x 2
set xrange [STATS_min / 1.12:STATS_max * 1.4] # room for the name of the last knee
load "key.gp"
set xlabel "rows in the bucket"
set multiplot layout 1, 2 margins 0.10, 0.97, 0.145, panel_top spacing 0.10, 0.1
load "time_tics.gp"
set title "time of a call" offset 0, -0.6 font ",12"
plot for [s = 0:series - 1] data using (only(here(0, s), column("rows"))):(column("time_ns")):(column("low_ns")):(column("high_ns")) \
    with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
    for [k = 1:linked] data using (only(1, column("rows"))):(column("time_ns")):(row(0)) \
    with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
unset label
lo = row_lo; hi = row_hi
load "time_tics.gp"
set title "time per row; the ring is the knee" offset 0, -0.6 font ",12"
knee(s) = only(here(0, s) && column("knee") == 1, column("rows"))
plot for [s = 0:series - 1] data using (only(here(0, s), column("rows"))):(column("row_ns")):(column("row_low_ns")):(column("row_high_ns")) \
        with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
    for [s = 0:series - 1] data using (knee(s)):(column("row_ns")) with points pt 6 ps 2.4 lw 2 lc rgb colour(s), \
    for [s = 0:several * series - 1] data using (knee(s)):(column("row_ns")):(sprintf("%d", column("rows"))) \
        with labels left offset 0.9, 0.9 font ",11" textcolor rgb colour(s), \
    for [k = 1:linked] data using (only(1, column("rows"))):(column("row_ns")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
unset multiplot
