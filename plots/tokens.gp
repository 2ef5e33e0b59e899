data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_series(int(column("series")), strcol("series_label"))) nooutput
set yrange [0:*]
set xlabel "token of the generation"
set ylabel "time of the token (ms)"
of(s, y) = int(column("series")) == s ? y : NaN
set key vertical at screen 0.985, 0.885 right top samplen 2.5
set lmargin at screen 0.085; set rmargin at screen 0.975; set tmargin at screen 0.76; set bmargin at screen 0.12
plot for [s = 0:series - 1] data using (column("token")):(of(s, column("token_ms"))) \
        with points pt mark(s) ps 0.5 lc rgb light(s) notitle, \
    for [s = 0:series - 1] data using (column("token")):(of(s, column("median_ms"))) \
        with lines lw 2.2 lc rgb colour(s) title Series[s + 1], \
    for [s = 0:series - 1] data using (column("token")):(of(s, column("p95_ms"))) \
        with lines lw 1.5 dt 2 lc rgb colour(s) notitle
