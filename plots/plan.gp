data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
load "key.gp"
stats data using (column("plans")):(column("value_ms")) nooutput
plans_lo = STATS_min_x; plans_hi = STATS_max_x
lo = STATS_min_y / 1.25; hi = STATS_max_y * 1.4
set xrange [plans_lo - 0.5:plans_hi + 0.9]
set yrange [lo:hi]
set xtics 1
set logscale y 10
set ytics ()
do for [e = -4:8] { do for [m in "1 2 5"] { set ytics add (sprintf("%g", m * 10.0**e) m * 10.0**e) } }
set multiplot layout down(panels), across(panels) margins 0.085, 0.97, 0.145, panel_top spacing 0.06, 0.17
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set xlabel "plans (prefill, append and decode)"
    if (p % across(panels)) { unset ylabel } else { set ylabel "time (ms)" }
    plot data using (only(here(p, 0), column("plans"))):(column("value_ms")) with linespoints lw 2 pt mark(0) ps 0.9 lc rgb colour(0), \
        for [s = 1:series - 1] data using (only(here(p, s), column("plans"))):(column("value_ms")) \
            with points pt mark(s) ps 1.3 lw 2 lc rgb colour(s), \
        data using (only(column("panel") == p, column("plans"))):(column("value_ms")):(strcol("point")) \
            with labels left offset 0.7, 0.5 font ",9" textcolor rgb "#444444", \
        for [k = 1:linked] data using (only(column("panel") == p, column("plans"))):(column("value_ms")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
