data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
is(w) = strcol("what") eq w
roofs = 0
note_roof(i) = (roofs = i + 1 > roofs ? i + 1 : roofs, i)
array Used[16]
do for [i = 1:16] { Used[i] = 0 }
note_used(i) = (Used[i + 1] = 1, i)
stats data using (note_used(int(column("panel")))):(is("measured") ? note_series(int(column("series")), strcol("series_label")) : note_roof(int(column("series")))) nooutput
stats data using (note_panel(int(column("panel")), strcol("panel_label"))) nooutput
stats data using (only(is("measured"), column("rate"))) nooutput
lo = STATS_min
stats data using (column("rate")) nooutput
hi = STATS_max
set logscale xy 2
load "key.gp"
set style textbox opaque noborder fillcolor rgb "white" margins 0.3, 0.1
shown = Used[1] + Used[2]
set multiplot layout 1, shown margins 0.09, 0.97, 0.145, panel_top spacing 0.05, 0.15
first = 1
do for [p = 0:panels - 1] {
    if (Used[p + 1]) {
        set xrange [*:*]; set yrange [*:*]
        stats data using (only(column("panel") == p, column("intensity"))) nooutput
        set xrange [STATS_min / 1.12:STATS_max * 1.12]; set yrange [lo / 1.6:hi * 1.6]
        set title Panel[p + 1] offset 0, -0.6 font ",12"
        set xlabel "multiply-adds per byte"
        if (first) { set ylabel "multiply-adds per ns" } else { unset ylabel }
        first = 0
        plot for [s = 0:roofs - 1] data using (only(here(p, s) && !is("measured"), column("intensity"))):(column("rate")) \
                with lines lw 1.5 lc rgb "#777777", \
            for [k = 1:several] data using (only(column("panel") == p && is("slope"), column("intensity"))):(column("rate")):(strcol("name")) \
                with labels boxed left offset 0.6, 0.1 font ",10" textcolor rgb "#555555", \
            for [k = 1:several] data using (only(column("panel") == p && is("ceiling"), column("intensity"))):(column("rate")):(strcol("name")) \
                with labels boxed right offset 0, 0.6 font ",9" textcolor rgb "#555555", \
            for [s = 0:series - 1] data using (only(here(p, s) && is("measured"), column("intensity"))):(column("rate")) \
                with points pt mark(s) ps 0.8 lc rgb colour(s), \
            for [k = 1:linked] data using (only(column("panel") == p && is("measured"), column("intensity"))):(column("rate")):(row(0)) \
                with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
        unset label
    }
}
unset multiplot
