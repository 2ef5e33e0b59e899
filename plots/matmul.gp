data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
is(w) = strcol("what") eq w
limits = 0
unit = ""
note_limit(i) = (limits = i + 1 > limits ? i + 1 : limits, i)
note_unit(s) = (unit = s, 0)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(is("measured") ? note_series(int(column("series")), strcol("series_label")) : note_limit(int(column("series")))) nooutput
stats data using (note_unit(strcol("unit"))) nooutput
stats data using (only(is("measured"), column("low"))):(only(is("measured"), column("high"))) nooutput
lo = STATS_min_x; hi = STATS_max_y
stats data using (is("ceiling") ? column("rate") : hi) nooutput
hi = STATS_max
stats data using (column("rows")) nooutput
set style textbox opaque noborder fillcolor rgb "white" margins 0.3, 0.1
set logscale xy 2
from = STATS_min / 1.12; to = STATS_max * 1.12
set xrange [from:to]
middle = sqrt(from * to)
set yrange [lo / 1.3:hi * 1.3 * (hi / lo) ** (panels > across(panels) ? 0.15 : 0.05)] # room for a name over the highest
if (panels > 2) { set xtics 1, 4 }
load "key.gp"
set multiplot layout down(panels), across(panels) margins 0.1, 0.97, 0.145, panel_top spacing 0.05, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "rows" }
    if (p % across(panels)) { unset ylabel } else { set ylabel "multiply-adds per ".unit }
    plot for [s = 0:limits - 1] data using (only(here(p, s) && is("slope"), column("rows"))):(column("rate")) \
            with lines dt 2 lw 1.5 lc rgb "#777777", \
        data using (only(column("panel") == p && is("ceiling"), from)):(column("rate")):(to - from):(0) \
            with vectors nohead dt 2 lw 1.5 lc rgb "#777777", \
        for [k = 1:several] data using (only(column("panel") == p && is("ceiling"), to)):(column("rate")):(strcol("limit")) \
            with labels boxed right offset -0.5, 0.6 font ",10" textcolor rgb "#555555", \
        for [k = 1:several] data using (only(column("panel") == p && is("slope") && column("rows") > middle, column("rows"))):(column("rate")):(strcol("limit")) \
            with labels boxed right offset -1, 0.2 font ",10" textcolor rgb "#555555", \
        for [k = 1:several] data using (only(column("panel") == p && is("slope") && column("rows") <= middle, column("rows"))):(column("rate")):(strcol("limit")) \
            with labels boxed left offset 1, -0.3 font ",10" textcolor rgb "#555555", \
        for [s = 0:series - 1] data using (only(here(p, s) && is("measured"), column("rows"))):(column("rate")):(column("low")):(column("high")) \
            with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p && is("measured"), column("rows"))):(column("rate")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
