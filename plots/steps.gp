data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
bars = 0
array Labels[16]
array Bars[128]
do for [i = 1:16] { Labels[i] = "" }
do for [i = 1:128] { Bars[i] = "" }
note_label(i, s) = (Labels[i + 1] = s, i)
note_bar(p, i, s) = (Bars[8 * p + i + 1] = s, bars = i + 1 > bars ? i + 1 : bars, i)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_label(int(column("colour")), strcol("label"))) nooutput
stats data using (note_bar(int(column("panel")), int(column("bar")), strcol("bar_label"))) nooutput
fill(i) = i == 8 ? "#cccccc" : i == 7 ? "#777777" : colour(i)
dark(i) = i == 0 || i == 1 || i == 2 || i == 6 || i == 7
set style fill solid 0.9 border rgb "white"
set yrange [0:106]
set ytics 0, 20, 100
set xlabel "max_seq (slots)"
set xrange [-0.6:bars - 0.4]
unset grid; set grid ytics lc rgb "#dddddd" lt 1 lw 0.7
set key vertical at screen 0.99, 0.78 right top reverse Left samplen 1.5 font ",11"
set multiplot layout 1, panels margins 0.08, 0.81, 0.145, 0.81 spacing 0.06, 0.1
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p) { unset ylabel } else { set ylabel "share of the time (%)" }
    set xtics ()
    do for [b = 0:bars - 1] { set xtics add (tic(Bars[8 * p + b + 1]) b) }
    mine(i) = column("panel") == p && (i < 0 || column("colour") == i)
    middle(d) = only(mine(-1) && dark(column("colour")) == d && column("share") > 0.045, column("bar"))
    plot for [i = 8:0:-1] data using (only(mine(i), column("bar"))):(column("to")):(column("bar") - 0.37):(column("bar") + 0.37):(column("from")):(column("to")) \
            with boxxyerror lc rgb fill(i) title Labels[i + 1], \
        for [k = 1:several] data using (middle(1)):((column("from") + column("to")) / 2):(sprintf("%.0f", 100 * column("share"))) \
            with labels font ",11" textcolor rgb "white" notitle, \
        for [k = 1:several] data using (middle(0)):((column("from") + column("to")) / 2):(sprintf("%.0f", 100 * column("share"))) \
            with labels font ",11" textcolor rgb "black" notitle, \
        for [k = 1:several] data using (only(mine(-1) && column("from") == 0, column("bar"))):(102.5):(brief(column("total_ns"))) \
            with labels font ",10" notitle, \
        for [k = 1:linked] data using (only(mine(-1), column("bar"))):((column("from") + column("to")) / 2):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000" notitle
    unset label; unset key
}
unset multiplot
