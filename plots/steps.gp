data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
bars = 0
array Colours[16]
array Labels[16]
array Bars[128]
do for [i = 1:16] { Labels[i] = "" }
note_label(i, s) = (Labels[i + 1] = s, i)
note_bar(p, i, s) = (Bars[8 * p + i + 1] = s, bars = i + 1 > bars ? i + 1 : bars, i)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_label(int(column("colour")), strcol("label"))) nooutput
stats data using (note_bar(int(column("panel")), int(column("bar")), strcol("bar_label"))) nooutput
fill(i) = i == 8 ? "#bbbbbb" : i == 7 ? "#666666" : colour(i)
here(p, i) = int(column("panel")) == p && int(column("colour")) == i
set style fill solid 0.85 border rgb "white"
set boxwidth 0.7
set yrange [0:*]
set xlabel "max_seq (slots)"
set xrange [-0.6:bars - 0.4]
unset grid; set grid ytics lc rgb "#dddddd" lt 1 lw 0.7
set key outside
set key vertical at screen 0.99, 0.80 right top reverse Left samplen 1.5
set multiplot layout 1, panels margins 0.075, 0.80, 0.12, 0.80 spacing 0.09, 0.1
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set xtics ()
    do for [b = 0:bars - 1] { set xtics add (Bars[8 * p + b + 1] b) }
    plot for [i = 8:0:-1] data using (here(p, i) ? column("bar") : NaN):(column("to_ms")):(column("bar") - 0.35):(column("bar") + 0.35):(column("from_ms")):(column("to_ms")) \
            with boxxyerror lc rgb fill(i) title Labels[i + 1], \
        data using (column("panel") == p && column("share") > 0.06 ? column("bar") : NaN):((column("from_ms") + column("to_ms")) / 2):(sprintf("%.0f %%", 100 * column("share"))) \
            with labels font ",10" textcolor rgb "white" notitle
    unset label 1; unset label 2; unset label 3; unset key
}
unset multiplot
