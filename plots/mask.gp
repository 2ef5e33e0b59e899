data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
stats data using (column("valid")):(column("high_ns")) nooutput
unit = STATS_max_y < 1e6 ? 1e3 : 1e6
set yrange [0:STATS_max_y / unit * 1.08]
set xrange [0:STATS_max_x * 1.03]
step = 2.0 ** floor(log10(STATS_max_x / 3.0) / log10(2))
set xtics step
load "key.gp"
set multiplot layout down(panels), across(panels) margins 0.085, 0.97, 0.145, panel_top spacing 0.06, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "valid past slots" }
    if (p % across(panels)) { unset ylabel } else { set ylabel unit == 1e3 ? "time of a call (µs)" : "time of a call (ms)" }
    plot for [s = 0:series - 1] data using (only(here(p, s), column("valid"))):(column("time_ns") / unit):(column("low_ns") / unit):(column("high_ns") / unit) \
        with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p, column("valid"))):(column("time_ns") / unit):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
