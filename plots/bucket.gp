data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_series(int(column("series")), strcol("series_label"))) nooutput
set logscale x 2
set xlabel "rows in the bucket"
of(s, y) = int(column("series")) == s ? y : NaN
set key vertical maxrows 4 at screen 0.985, 0.885 right top samplen 2.5 width 1
set multiplot layout 1, 2 margins 0.085, 0.985, 0.12, 0.70 spacing 0.09, 0.1
stats data using (column("low_ns")):(column("high_ns")) nooutput
lo = STATS_min_x; hi = STATS_max_y
load "time_tics.gp"
set title "time of a call" offset 0, -0.6 font ",12"
plot for [s = 0:series - 1] data using (column("rows")):(of(s, column("time_ns"))):(column("low_ns")):(column("high_ns")) \
    with yerrorlines lw 2 pt mark(s) ps 0.8 lc rgb colour(s) title Series[s + 1]
unset label 1; unset label 2; unset label 3; unset key
stats data using (column("row_low_ns")):(column("row_high_ns")) nooutput
lo = STATS_min_x; hi = STATS_max_y
load "time_tics.gp"
set title "time per row, and the knee" offset 0, -0.6 font ",12"
plot for [s = 0:series - 1] data using (column("rows")):(of(s, column("row_ns"))):(column("row_low_ns")):(column("row_high_ns")) \
        with yerrorlines lw 2 pt mark(s) ps 0.8 lc rgb colour(s) notitle, \
    for [s = 0:series - 1] data using (column("rows")):(column("knee") == 1 ? of(s, column("row_ns")) : NaN) \
        with points pt 6 ps 2.4 lw 2 lc rgb colour(s) notitle, \
    for [s = 0:series - 1] data using (column("rows")):(column("knee") == 1 ? of(s, column("row_ns")) : NaN):(sprintf("%d", column("rows"))) \
        with labels offset 0, 1.3 font ",10" textcolor rgb colour(s) notitle
unset multiplot
