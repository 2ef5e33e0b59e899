data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
stats data using (column("rows")) nooutput
x_lo = STATS_min / 1.12; x_hi = STATS_max * 1.12
stats data using (column("low_ns")):(column("high_ns")) nooutput
lo = STATS_min_x; hi = STATS_max_y
load "time_tics.gp"
set logscale x 2
if (panels > 2) { set xtics 1, 4 }
set xrange [x_lo:x_hi]
load "key.gp"
set multiplot layout down(panels), across(panels) margins 0.11, 0.97, 0.145, panel_top spacing 0.075, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "rows in the call" }
    if (p % across(panels)) { unset ylabel } else { set ylabel "time per row written" }
    plot for [s = 0:series - 1] data using (only(here(p, s), column("rows"))):(column("row_ns")):(column("low_ns")):(column("high_ns")) \
        with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p, column("rows"))):(column("row_ns")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
