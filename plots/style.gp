# style.gp - the common look. Every figure names its arguments and loads it:
#   data     the table          output   the picture       format  svg, png, page, dumb, block or sixel
#   subject, conditions, foot   the texts around it
# To draw by hand:  GNUPLOT_LIB=plots gnuplot -c plots/attention.gp attention.tsv my.svg svg "Title" "" ""
# A page is an svg whose points say which row of the table they are (the last lines); a report makes links of them.
set encoding utf8
linked = format eq "page"
if (!exists("terminal_columns")) { terminal_columns = 0; terminal_lines = 0 }
if (terminal_columns < 40 || terminal_columns > 400) { terminal_columns = 100 }
if (terminal_lines < 20 || terminal_lines > 200) { terminal_lines = 36 }
if (format eq "block" && strstrt(GPVAL_TERMINALS, " block ") == 0) { format = "dumb" }
if (format eq "sixel" && strstrt(GPVAL_TERMINALS, " sixelgd ") == 0) { format = "dumb" }
if (format eq "png") {
    set terminal pngcairo size 900,560 noenhanced font "DejaVu Sans,10" background rgb "white"
    set output output
} else { if (format eq "svg" || linked) {
    set terminal svg size 900,560 dynamic noenhanced font "DejaVu Sans,10" fontscale 1.33 background rgb "white"
    set output output
} else { if (format eq "sixel") {
    set terminal sixelgd size 900,560 truecolor noenhanced font "DejaVu Sans,10" background rgb "white"
} else { if (format eq "block") {
    set terminal block size terminal_columns,terminal_lines noenhanced
} else {
    set terminal dumb size terminal_columns,terminal_lines noenhanced
    format = "dumb"
}}}}

set datafile separator "\t"
set datafile columnheaders
set datafile commentschars ""
# gnuplot 5.4 crashes on labels without a place when the table has a single row: such plots are left out then.
stats data using (1) nooutput
several = STATS_records > 1
linked = linked && several

# Okabe and Ito's colours, told apart with every kind of colour vision; each series has its own mark as well.
array Colour[8] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999"]
array Mark[8] = [7, 5, 9, 13, 11, 4, 6, 8]
colour(i) = Colour[int(i) % 8 + 1]
mark(i) = Mark[int(i) % 8 + 1]
# The same colour, much lighter: what is beside the point.
array Pale[8] = ["#99C7E0", "#EEBF99", "#99D8C7", "#EBC9DC", "#F5D999", "#BBE1F6", "#999999", "#cccccc"]
light(i) = Pale[int(i) % 8 + 1]
key_colour(s) = colour(s)
key_mark(s) = mark(s)

set border 3 lc rgb "#444444"
set tics nomirror out scale 0.6 textcolor rgb "#222222"
if (format ne "dumb") { set grid lc rgb "#dddddd" lt 1 lw 0.7 }
set errorbars small
set autoscale xfix

set label 1 subject at screen 0.02, 0.955 left font ",17"
set label 2 conditions at screen 0.02, 0.908 left font ",11" textcolor rgb "#555555"
set label 3 foot at screen 0.02, 0.022 left font ",9" textcolor rgb "#6b6b6b"

# Names of panels and series, by number.
array Panel[16]
array Series[32]
do for [i = 1:16] { Panel[i] = "" }
do for [i = 1:32] { Series[i] = "" }
panels = 0
series = 0
note_panel(i, s) = (Panel[i + 1] = s, panels = i + 1 > panels ? i + 1 : panels, i)
note_series(i, s) = (Series[i + 1] = s, series = i + 1 > series ? i + 1 : series, i)

# Rows and columns of small pictures: wide rather than tall.
across(n) = n <= 3 ? n : (n <= 4 ? 2 : 3)
down(n) = (n + across(n) - 1) / across(n)

# A text as the name of a tic: there a percent sign would begin a format.
tic(s) = (at = strstrt(s, "%")) == 0 ? s : (s[1:at - 1]."%%").tic(s[at + 1:*])

# A time in ns as people write it; brief: to three digits.
spell(ns) = ns < 999.5 ? sprintf("%g ns", ns) : ns < 999500 ? sprintf("%g µs", ns / 1e3) : \
           ns < 999500000 ? sprintf("%g ms", ns / 1e6) : sprintf("%g s", ns / 1e9)
brief(ns) = ns < 999.5 ? sprintf("%.3g ns", ns) : ns < 999500 ? sprintf("%.3g µs", ns / 1e3) : \
            ns < 999500000 ? sprintf("%.3g ms", ns / 1e6) : sprintf("%.3g s", ns / 1e9)

# The panel and series of a row of the table, and a value only where they are the wanted ones (elsewhere no point).
here(p, s) = int(column("panel")) == p && int(column("series")) == s
only(yes, value) = yes ? value : NaN

# Last of a plot in a page: spots without colour over its points, each with the row it comes from, as
#   for [k = 1:linked] data using (only(yes, x)):(y):(row(0)) with labels hypertext point pt 7 ps 1.6 lc rgb "#ff000000"
row(i) = sprintf("%d", column(i)) # of column 0: gnuplot counts rows from 0

unset key
