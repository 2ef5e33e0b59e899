data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "bars.gp"
set multiplot layout 1, panels margins 0.2, 0.96, 0.10, 0.82 spacing 0.23, 0.1
tens(v) = 10.0 ** floor(log10(v))
wide_step(v) = v / tens(v) < 2 ? 0.5 * tens(v) : v / tens(v) < 5 ? tens(v) : 2 * tens(v) # three to five tics
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    small = Count[p + 1] > 24 ? ",8" : ",11" # as many as fit below each other
    set ytics () font small
    do for [b = 0:Count[p + 1] - 1] { set ytics add (tic(Names[64 * p + b + 1]) b) }
    set yrange [Count[p + 1] - 0.4:-0.6]
    set xrange [0:Most[p + 1] * 1.2]
    set xtics 0, wide_step(Most[p + 1])
    mine(v) = only(column("panel") == p, v)
    plot data using (mine(column("value") / 2)):(column("bar")):(0):(column("value")):(column("bar") - 0.35):(column("bar") + 0.35) \
            with boxxyerror lc rgb colour(p), \
        for [k = 1:several] data using (mine(column("value"))):(column("bar")):(sprintf(column("value") < 1000 ? "%.3g" : "%.0f", column("value"))) with labels left offset 0.6, 0 font small
    unset label
}
unset multiplot
