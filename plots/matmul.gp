data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
limits = 0
array Limit[16]
note_limit(i, s) = (Limit[i + 1] = s, limits = i + 1 > limits ? i + 1 : limits, i)
is(w) = strcol("what") eq w
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(is("measured") ? note_series(int(column("series")), strcol("series_label")) : note_limit(int(column("series")), strcol("series_label"))) nooutput
stats data using (is("measured") ? column("low") : NaN):(is("measured") ? column("high") : NaN) nooutput
lo = STATS_min_x; hi = STATS_max_y
stats data using (is("ceiling") ? column("rate") : lo) nooutput
hi = STATS_max > hi ? STATS_max : hi
set logscale xy 2
set yrange [lo / 1.3:hi * 1.4]
set format y "%g"
set ylabel "multiply-adds per cycle or ns"
here(p, s, w) = is(w) && int(column("panel")) == p && int(column("series")) == s ? column("rate") : NaN
any(p, s) = is("measured") ? NaN : int(column("panel")) == p && int(column("series")) == s ? column("rate") : NaN
set key horizontal at screen 0.985, 0.885 right top samplen 2.5
set multiplot layout down(panels), across(panels) margins 0.08, 0.975, 0.12, 0.76 spacing 0.05, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "rows" }
    plot for [s = 0:limits - 1] data using (column("rows")):(any(p, s)) \
            with lines dt 2 lw 1.5 lc rgb "#777777" notitle, \
        for [s = 0:series - 1] data using (column("rows")):(here(p, s, "measured")):(column("low")):(column("high")) \
            with yerrorlines lw 2 pt mark(s) ps 0.8 lc rgb colour(s) title Series[s + 1]
    unset label 1; unset label 2; unset label 3; unset key; unset ylabel
}
unset multiplot
