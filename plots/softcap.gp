data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "names.gp"
stats data using (column("high")) nooutput
hi = STATS_max
stats data using (column("low")) nooutput
lo = STATS_min
reaches = hi / lo > 15 # a reference beside vector code: only a logarithmic axis shows both
load "key.gp"
set multiplot layout down(panels), across(panels) margins 0.095, 0.97, 0.145, panel_top spacing 0.07, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "columns" }
    if (p % across(panels)) { unset ylabel } else { set ylabel "elements per ns" }
    set xrange [*:*]; set yrange [*:*]; unset logscale
    stats data using (only(column("panel") == p, column("columns"))) nooutput
    set logscale x 2
    if (reaches) { load "rate_tics.gp" } else { set yrange [0:hi * 1.06] }
    set xrange [STATS_min / 1.12:STATS_max * 1.12]
    few = STATS_max / STATS_min > 100 || panels > 2
    if (few) { set xtics 1, 4 } else { set xtics autofreq }
    plot for [s = 0:series - 1] data using (only(here(p, s), column("columns"))):(column("rate")):(column("low")):(column("high")) \
        with yerrorlines lw 2 pt mark(s) ps 0.9 lc rgb colour(s), \
        for [k = 1:linked] data using (only(column("panel") == p, column("columns"))):(column("rate")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
