data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
array Count[16]
array Most[16]
array Names[256]
do for [i = 1:16] { Count[i] = 0; Most[i] = 0 }
note_bar(p, i, s) = (Names[40 * p + i + 1] = s, Count[p + 1] = i + 1 > Count[p + 1] ? i + 1 : Count[p + 1], i)
note_value(p, v) = (Most[p + 1] = v > Most[p + 1] ? v : Most[p + 1], v)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_bar(int(column("panel")), int(column("bar")), strcol("name"))) nooutput
stats data using (note_value(int(column("panel")), column("value"))) nooutput
set style fill solid 0.9 noborder
unset grid; set grid xtics lc rgb "#dddddd" lt 1 lw 0.7
set multiplot layout 1, panels margins 0.2, 0.96, 0.10, 0.82 spacing 0.23, 0.1
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set ytics ()
    do for [b = 0:Count[p + 1] - 1] { set ytics add (Names[40 * p + b + 1] b) }
    set yrange [Count[p + 1] - 0.4:-0.6]
    set xrange [0:Most[p + 1] * 1.2]
    mine(v) = only(column("panel") == p, v)
    plot data using (mine(column("value") / 2)):(column("bar")):(0):(column("value")):(column("bar") - 0.35):(column("bar") + 0.35) \
            with boxxyerror lc rgb colour(p), \
        data using (mine(column("value"))):(column("bar")):(sprintf(" %.3g", column("value"))) with labels left font ",11"
    unset label
}
unset multiplot
