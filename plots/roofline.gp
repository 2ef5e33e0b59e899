data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
is(w) = strcol("what") eq w
roofs = 0
note_roof(i) = (roofs = i + 1 > roofs ? i + 1 : roofs, i)
array Used[16]
array From[16]
array To[16]
do for [i = 1:16] { Used[i] = 0; From[i] = 1e300; To[i] = 0 }
lo = 1e300; hi = 0
note_used(p, x) = (Used[p + 1] = is("measured") || Used[p + 1], From[p + 1] = x < From[p + 1] ? x : From[p + 1], \
                   To[p + 1] = x > To[p + 1] ? x : To[p + 1], p)
note_rate(y) = (lo = is("measured") && y < lo ? y : lo, hi = y > hi ? y : hi, y)
note_name(i) = is("measured") ? note_series(i, strcol("series_label")) : note_roof(i)
# There may be thousands of points: what is needed of them is noted in one reading, and all are drawn in one.
stats data using (note_panel(int(column("panel")), strcol("panel_label")), note_used(int(column("panel")), column("intensity"))): \
    (note_name(int(column("series"))), note_rate(column("rate"))) nooutput
set print $Roofs
print "slope\tpanel\tseries\tintensity\trate\tname"
unset print
set table $Roofs append separator "\t"
plot data using (is("slope")):(column("panel")):(column("series")):(column("intensity")):(column("rate")):("=".strcol("name")) \
    with table if (!is("measured"))
unset table
set logscale xy 2
load "key.gp"
set style textbox opaque noborder fillcolor rgb "white" margins 0.3, 0.1
shown = Used[1] + Used[2]
set multiplot layout 1, shown margins 0.09, 0.97, 0.145, panel_top spacing 0.07, 0.15
hex(colour) = int("0x".colour[2:7])
first = 1
do for [p = 0:panels - 1] {
    if (Used[p + 1]) {
        set xrange [From[p + 1] / 1.12:To[p + 1] * 1.12]; set yrange [lo / 1.6:hi * 1.6]
        set title Panel[p + 1] offset 0, -0.6 font ",12"
        set xlabel "multiply-adds per byte"
        if (first) { set ylabel "multiply-adds per ns" } else { unset ylabel }
        first = 0
        plot for [s = 0:roofs - 1] $Roofs using (only(here(p, s), column("intensity"))):(column("rate")) \
                with lines lw 1.5 lc rgb "#777777", \
            for [k = 1:several] $Roofs using (only(column("panel") == p && column("slope") == 1, column("intensity"))):(column("rate")):(strcol("name")[2:*]) \
                with labels boxed left offset 0.6, 0.1 font ",10" textcolor rgb "#555555", \
            for [k = 1:several] $Roofs using (only(column("panel") == p && column("slope") == 0, column("intensity"))):(column("rate")):(strcol("name")[2:*]) \
                with labels boxed right offset 0, 0.6 font ",9" textcolor rgb "#555555", \
            data using (only(column("panel") == p && is("measured"), column("intensity"))):(column("rate")): \
                (mark(column("series"))):(hex(colour(column("series")))) with points pt variable ps 0.8 lc rgb variable, \
            for [k = 1:linked] data using (only(column("panel") == p && is("measured"), column("intensity"))):(column("rate")):(row(0)) \
                with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
        unset label
    }
}
unset multiplot
