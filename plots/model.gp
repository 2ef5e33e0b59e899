data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
array Light[32]
note_light(i, l) = (Light[i + 1] = l, i)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_series(int(column("series")), strcol("series_label"))) nooutput
stats data using (note_light(int(column("series")), int(column("padded")))) nooutput
set logscale x 2
set yrange [0:*]
set ylabel "tokens per second"
here(p, s) = int(column("panel")) == p && int(column("series")) == s ? column("tokens_per_s") : NaN
used(s) = exists("Light") && Series[s + 1] ne ""
set key vertical maxrows 2 at screen 0.985, 0.885 right top samplen 2.5
set multiplot layout down(panels), across(panels) margins 0.085, 0.975, 0.12, 0.76 spacing 0.085, 0.15
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    set xlabel "max_seq (slots)"
    plot for [s = 0:series - 1] data using (column("max_seq")):(here(p, s)):(column("low")):(column("high")) \
        with yerrorlines lw (Light[s + 1] ? 1.2 : 2.2) dt Light[s + 1] ? 3 : 1 pt mark(s / 2) ps (Light[s + 1] ? 0.6 : 0.9) \
        lc rgb (Light[s + 1] ? light(s / 2) : colour(s / 2)) title Series[s + 1]
    unset label 1; unset label 2; unset label 3; unset key; unset ylabel
}
unset multiplot
