data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
load "key.gp"
stats data using (column("turn")) nooutput
turns_hi = STATS_max
stats data using (column("low_ms")):(column("high_ms")) nooutput
set xrange [0.5:turns_hi + 0.5]
set xtics 1, (turns_hi > 12 ? 4 : turns_hi > 6 ? 2 : 1)
set logscale y 10
set ytics ()
do for [e = -4:8] { do for [m in "1 2 5"] { set ytics add (sprintf("%g", m * 10.0**e) m * 10.0**e) } }
set yrange [STATS_min_x / 1.3:STATS_max_y * 1.3]
set multiplot layout down(panels), across(panels) margins 0.085, 0.97, 0.145, panel_top spacing 0.06, 0.17
aside(s) = 0.06 * (int(s) % 4 - 1.5)
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set xlabel "turn of the session"
    if (p % across(panels)) { unset ylabel } else { set ylabel "time to first token (ms)" }
    plot for [s = 0:series - 1] data using (only(here(p, s), column("turn") + aside(s))):(column("median_ms")):(column("low_ms")):(column("high_ms")) \
            with yerrorlines lw 1.5 pt mark(s) ps 0.9 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p, column("turn") + aside(column("series")))):(column("median_ms")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
