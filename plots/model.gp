data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
pale(s) = int(s) % 2 # every other series counts the padded tokens as well
key_colour(s) = pale(s) ? light(s / 2) : colour(s / 2)
key_mark(s) = mark(s / 2)
stats data using (column("max_seq")) nooutput
set logscale x 2
set xrange [STATS_min / 1.12:STATS_max * 1.12]
set yrange [0:*]
load "key.gp"
set multiplot layout 1, panels margins 0.085, 0.97, 0.145, panel_top spacing 0.085, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set xlabel "max_seq (slots)"
    if (p) { unset ylabel } else { set ylabel "tokens per second" }
    plot for [s = series - 1:0:-1] data using (only(here(p, s), column("max_seq"))):(column("tokens_per_s")):(column("low")):(column("high")) \
        with yerrorlines lw (pale(s) ? 1.5 : 2.2) pt key_mark(s) ps (pale(s) ? 0.7 : 1) lc rgb key_colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p, column("max_seq"))):(column("tokens_per_s")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
