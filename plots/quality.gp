data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
load "key.gp"
stats data using (column("low")):(column("high")) nooutput
x_lo = STATS_min_x; x_hi = STATS_max_y
array Least[16]
array Most[16]
do for [p = 0:panels - 1] {
    stats data using (only(column("panel") == p, column("value"))) nooutput
    Least[p + 1] = STATS_min; Most[p + 1] = STATS_max
}
set multiplot layout 1, panels margins 0.085, 0.97, 0.145, panel_top spacing 0.09, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1]." of ".(Panel[p + 1] eq "PEIR (%)" ? "the logits" : "a text") offset 0, -0.6 font ",12"
    set xlabel "decoded tokens per second"
    set ylabel Panel[p + 1]
    set xrange [x_lo - 0.05 * (x_hi - x_lo):x_hi + 0.18 * (x_hi - x_lo) + 1e-9]
    if (Least[p + 1] > 0 && Most[p + 1] / Least[p + 1] > 20) {
        set logscale y 10; set format y "%g"; set yrange [Least[p + 1] / 1.6:Most[p + 1] * 1.6]
    } else {
        room = Most[p + 1] - Least[p + 1] > 0 ? 0.1 * (Most[p + 1] - Least[p + 1]) : abs(Most[p + 1]) + 0.1
        unset logscale y; set yrange [Least[p + 1] - room:Most[p + 1] + room]
    }
    plot for [s = 0:series - 1] data using (only(here(p, s), column("tokens_per_s"))):(column("value")):(column("low")):(column("high")) \
            with xerrorbars lw 1.5 pt mark(s) ps 1.1 lc rgb colour(s), \
        for [k = 1:several] data using (only(column("panel") == p, column("tokens_per_s"))):(column("value")):(strcol("point")) \
            with labels left offset 1, 0.5 font ",10" textcolor rgb "#444444", \
        for [k = 1:linked] data using (only(column("panel") == p, column("tokens_per_s"))):(column("value")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
