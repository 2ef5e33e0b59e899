data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
is(w) = strcol("what") eq w
of(s, w) = is(w) && int(column("series")) == s
limit = ""
note_limit(s) = (limit = s, 0)
stats data using (is("measured") ? note_series(int(column("series")), strcol("series_label")) : 0) nooutput
stats data using (is("limit") ? note_limit(strcol("series_label")) : 0) nooutput
stats data using (only(!is("knee"), column("row_low_ns"))):(only(!is("knee"), column("row_high_ns"))) nooutput
row_lo = STATS_min_x; row_hi = STATS_max_y
stats data using (only(!is("knee"), column("low_ns"))):(only(!is("knee"), column("high_ns"))) nooutput
lo = STATS_min_x; hi = STATS_max_y
stats data using (column("rows")) nooutput
set logscale x 2
set xrange [STATS_min / 1.12:STATS_max * 1.12]
load "key.gp"
set xlabel "rows of the bucket (1: a decode)"
set multiplot layout 1, 2 margins 0.10, 0.97, 0.145, panel_top spacing 0.10, 0.1
set label 90 limit at graph 0.03, 0.96 left font ",10" textcolor rgb "#666666"
load "time_tics.gp"
set title "time of a call; the ring is the knee M*" offset 0, -0.6 font ",12"
plot data using (only(is("limit"), column("rows"))):(column("time_ns")) with lines dt 2 lw 1.5 lc rgb "#777777", \
    for [s = 0:series - 1] data using (only(of(s, "measured"), column("rows"))):(column("time_ns")):(column("low_ns")):(column("high_ns")) \
        with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
    for [s = 0:series - 1] data using (only(of(s, "knee"), column("rows"))):(column("time_ns")) \
        with points pt 6 ps 2.4 lw 2 lc rgb colour(s), \
    for [k = 1:linked] data using (only(is("measured"), column("rows"))):(column("time_ns")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
do for [i = 10:10 + series] { unset label i }
unset label 1; unset label 2; unset label 3; unset label 90
lo = row_lo; hi = row_hi
load "time_tics.gp"
set title "time per row" offset 0, -0.6 font ",12"
plot data using (only(is("limit"), column("rows"))):(column("row_ns")) with lines dt 2 lw 1.5 lc rgb "#777777", \
    for [s = 0:series - 1] data using (only(of(s, "measured"), column("rows"))):(column("row_ns")):(column("row_low_ns")):(column("row_high_ns")) \
        with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
    for [k = 1:linked] data using (only(is("measured"), column("rows"))):(column("row_ns")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
unset multiplot
