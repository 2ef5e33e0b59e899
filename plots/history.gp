data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
is(w) = strcol("what") eq w
stats data using (note_panel(int(column("panel")), strcol("panel_label"))) nooutput
set multiplot layout down(panels), across(panels) margins 0.085, 0.97, 0.145, 0.83 spacing 0.07, 0.14
do for [p = 0:panels - 1] {
    set xrange [*:*]; set yrange [*:*]
    stats data using (only(column("panel") == p && is("point"), column("low"))):(only(column("panel") == p && is("point"), column("high"))) nooutput
    lo = STATS_min_x; hi = STATS_max_y
    stats data using (only(column("panel") == p && is("point"), column("x"))) nooutput
    set xrange [STATS_min - 0.6:STATS_max + 0.6]
    set yrange [lo - 0.1 * (hi - lo) - 1e-6:hi + 0.25 * (hi - lo) + 1e-6]
    top = hi + 0.16 * (hi - lo)
    set title Panel[p + 1] offset 0, -0.6 font ",11"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "builds in order of recording" }
    if (p % across(panels)) { unset ylabel } else { set ylabel "change (%)" }
    mine(w) = column("panel") == p && is(w)
    plot data using (only(mine("change"), column("x"))):(lo):(0):(hi - lo) \
            with vectors nohead dt 2 lw 1.5 lc rgb colour(1), \
        data using (only(mine("point"), column("x"))):(column("change")):(column("low")):(column("high")) \
            with yerrorbars lw 1.3 pt mark(0) ps 0.6 lc rgb light(0), \
        data using (only(mine("level"), column("x"))):(column("change")):(column("to") - column("x")):(0) \
            with vectors nohead lw 2.5 lc rgb colour(0), \
        for [k = 1:several] data using (only(mine("change"), column("x"))):(top):(strcol("state")) \
            with labels center font ",10" textcolor rgb colour(1), \
        for [k = 1:linked] data using (only(mine("point"), column("x"))):(column("change")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
