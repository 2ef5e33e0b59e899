data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "map.gp"
array Row[64]
array Share[64]
rows = 0; columns = 0
note_row(i, n) = (Row[i + 1] = n, rows = i + 1 > rows ? i + 1 : rows, i)
note_share(i, s) = (Share[i + 1] = s, columns = i + 1 > columns ? i + 1 : columns, i)
stats data using (note_row(int(column("y")), column("max_seq"))):(note_share(int(column("x")), strcol("share"))) nooutput
set xrange [-0.5:columns - 0.5]
set yrange [-0.5:rows - 0.5]
set xtics ()
do for [i = 1:columns] { set xtics add (Share[i] i - 1) }
set ytics ()
do for [i = 1:rows] { set ytics add (sprintf("%d", Row[i]) i - 1) }
set border 0
set xlabel "share of the slots that is valid"
set ylabel "max_seq"
set lmargin screen 0.12; set rmargin screen 0.97; set bmargin screen 0.17; set tmargin screen 0.85
plot data using (column("x")):(column("y")):(0.5):(0.5):(tax_colour(column("tax"))) with boxxyerror lc rgb variable notitle, \
    data using (column("x")):(column("y")):(tax_text(column("tax"))):(tax_ink(column("tax"))) \
        with labels font ",15" textcolor rgb variable notitle, \
    data using (column("x")):(column("y")):(brief(column("literal_ns"))." / ".brief(column("skip_ns"))):(tax_ink(column("tax"))) \
        with labels offset 0, -1.6 font ",10" textcolor rgb variable notitle, \
    for [k = 1:linked] data using (column("x")):(column("y")):(row(0)) \
        with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000" notitle
