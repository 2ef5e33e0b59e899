data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "bars.gp"
widest = 0
do for [b = 1:Count[1]] { widest = strlen(Names[b]) > widest ? strlen(Names[b]) : widest }
left = 0.03 + 0.0083 * widest # only the first panel names the bars: they are the same in all
gap = 0.02
each = (0.97 - left - (panels - 1) * gap) / panels
abbreviate(v) = v < 999.5 ? sprintf("%.3g", v) : v < 999500 ? sprintf("%.3g k", v / 1e3) : \
    v < 999.5e6 ? sprintf("%.3g M", v / 1e6) : sprintf("%.3g G", v / 1e9)
unset xtics; unset grid
set multiplot
set bmargin at screen 0.12; set tmargin at screen 0.82
do for [p = 0:panels - 1] {
    set lmargin at screen left + p * (each + gap)
    set rmargin at screen left + p * (each + gap) + each
    set title Panel[p + 1] offset 0, -0.6 font ",11"
    set ytics ()
    do for [b = 0:Count[1] - 1] { set ytics add ((p ? "" : tic(Names[b + 1])) b) }
    set yrange [Count[1] - 0.4:-0.6]
    set xrange [0:Most[p + 1] * 1.4]
    mine(v) = only(column("panel") == p, v)
    plot data using (mine(column("value") / 2)):(column("bar")):(0):(column("value")):(column("bar") - 0.35):(column("bar") + 0.35) \
            with boxxyerror lc rgb colour(p), \
        for [k = 1:several] data using (mine(column("value"))):(column("bar")):(abbreviate(column("value"))) with labels left offset 0.6, 0 font ",10", \
        for [k = 1:linked] data using (only(column("panel") == p, column("value"))):(column("bar")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
    unset label
}
unset multiplot
