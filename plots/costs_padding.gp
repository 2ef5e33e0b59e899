data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
load "map.gp"
array Set[16]
array Tokens[64]
sets = 0; columns = 0
note_set(i, s) = (Set[i + 1] = s, sets = i + 1 > sets ? i + 1 : sets, i)
note_tokens(i, n) = (Tokens[i + 1] = n, columns = i + 1 > columns ? i + 1 : columns, i)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_set(int(column("y")), strcol("set"))) nooutput
stats data using (note_tokens(int(column("x")), column("tokens"))) nooutput
set xrange [-0.5:columns - 0.5]
set yrange [sets - 0.5:-0.5]
set xtics ()
do for [i = 1:columns] { set xtics add (sprintf("%d", Tokens[i]) i - 1) }
set ytics ()
do for [i = 1:sets] { set ytics add (strlen(Set[i]) > 16 ? Set[i][1:14]."…" : Set[i] i - 1) }
set tics font ",10"
set border 0
set multiplot layout panels, 1 margins 0.15, 0.98, 0.145, 0.84 spacing 0.1, 0.12
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.8 font ",12"
    if (p < panels - 1) { unset xlabel } else { set xlabel "real tokens of the append" }
    plot data using (only(column("panel") == p, column("x"))):(column("y")):(0.5):(0.5):(tax_colour(column("tax"))) \
            with boxxyerror lc rgb variable notitle, \
        data using (only(column("panel") == p, column("x"))):(column("y")):(tax_text(column("tax"))):(tax_ink(column("tax"))) \
            with labels font ",9" textcolor rgb variable notitle, \
        for [k = 1:linked] data using (only(column("panel") == p, column("x"))):(column("y")):(row(0)) \
            with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000" notitle
    unset label
}
unset multiplot
