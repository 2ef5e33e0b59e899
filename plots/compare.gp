data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
rows = 0
widest = 0
tolerance = 0
array Name[64]
note(i, s, t) = (Name[i + 1] = s, rows = i + 1 > rows ? i + 1 : rows, widest = strlen(s) > widest ? strlen(s) : widest, \
    tolerance = t > 0 && t < 1e4 ? t : tolerance, i)
stats data using (note(int(column("row")), strcol("name"), column("tolerance"))) nooutput
lo = -tolerance
hi = tolerance
least(v) = (lo = v == v && v > -99 && v < lo ? v : lo, hi = v == v && v > hi ? v : hi, 0)
stats data using (least(column("change")) + least(column("low")) + least(column("high"))) nooutput
room = 0.06 * (hi - lo) + 1e-9
side(i) = i == 0 ? colour(1) : i == 1 ? colour(2) : "#777777"
Series[1] = "slower"; Series[2] = "faster"; Series[3] = "same, undecided or by layout"
series = 3
key_colour(s) = side(s)
key_mark(s) = mark(s)
load "key.gp"
left = 0.02 + 0.0082 * widest
left = left > 0.6 ? 0.6 : left
set lmargin at screen left; set rmargin at screen 0.94; set tmargin at screen panel_top + 0.04; set bmargin at screen 0.145
set ytics () font ",10"
do for [i = 0:rows - 1] { set ytics add (tic(Name[i + 1]) i) }
set yrange [rows - 0.4:-0.6]
set xrange [lo - room:hi + room]
set xlabel "change (%), with its interval"
unset grid; set grid xtics lc rgb "#dddddd" lt 1 lw 0.7
if (tolerance > 0 && format ne "dumb") {
    set object 1 rectangle from first -tolerance, graph 0 to first tolerance, graph 1 fc rgb "#f0f0f0" fs solid noborder behind
}
set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead lc rgb "#444444" lw 1
inside(v, edge) = v == v && v > lo - room && v < hi + room ? v : edge
plot for [s = 0:2] data using (only(column("side") == s, column("change"))):(column("row")):(inside(column("low"), lo - room)):(inside(column("high"), hi + room)) \
        with xerrorbars lw 2 pt mark(s) ps 1 lc rgb side(s), \
    data using (column("change")):(column("row")):(sprintf("%+.3g", column("change"))) \
        with labels center offset 0, 0.7 font ",9" textcolor rgb "#444444", \
    for [k = 1:linked] data using (only(1, column("change"))):(column("row")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
