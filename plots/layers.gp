data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
array Count[16]
array Kinds[128]
array Total[128]
do for [i = 1:16] { Count[i] = 0 }
do for [i = 1:128] { Total[i] = 0 }
note_kind(p, i, s, to) = (Kinds[8 * p + i + 1] = s, Total[8 * p + i + 1] = to, Count[p + 1] = i + 1 > Count[p + 1] ? i + 1 : Count[p + 1], i)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_series(int(column("colour")), strcol("label"))) nooutput
stats data using (note_kind(int(column("panel")), int(column("bar")), strcol("bar_label"), column("to_ms"))) nooutput
fill(i) = i == 8 ? "#cccccc" : i == 7 ? "#777777" : colour(i)
key_colour(i) = fill(i)
key_mark(i) = 5
load "key.gp"
set style fill solid 0.9 border rgb "white"
unset grid; set grid xtics lc rgb "#dddddd" lt 1 lw 0.7
set multiplot layout panels, 1 margins 0.2, 0.97, 0.145, panel_top spacing 0.1, 0.16
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - 1) { unset xlabel } else { set xlabel "time (ms)" }
    most = 0
    set ytics ()
    do for [b = 0:Count[p + 1] - 1] {
        set ytics add (tic(Kinds[8 * p + b + 1]) b)
        most = Total[8 * p + b + 1] > most ? Total[8 * p + b + 1] : most
    }
    set yrange [Count[p + 1] - 0.4:-0.6]
    set xrange [0:most * 1.1]
    mine(i) = column("panel") == p && (i < 0 || column("colour") == i)
    plot for [i = 0:8] data using (only(mine(i), column("to_ms"))):(column("bar")):(column("from_ms")):(column("to_ms")):(column("bar") - 0.36):(column("bar") + 0.36) \
            with boxxyerror lc rgb fill(i) notitle, \
        for [k = 1:several] data using (only(mine(-1) && column("to_ms") == Total[8 * p + int(column("bar")) + 1], column("to_ms"))):(column("bar")):(" ".brief(1e6 * column("to_ms"))) \
            with labels left font ",11" notitle, \
        for [k = 1:linked] data using (only(mine(-1), (column("from_ms") + column("to_ms")) / 2)):(column("bar")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000" notitle
    unset label
}
unset multiplot
