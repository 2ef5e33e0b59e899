data = ARG1; output = ARG2; format = ARG3; subject = ARG4; conditions = ARG5; foot = ARG6
load "style.gp"
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_series(int(column("series")), strcol("series_label"))) nooutput
stats data using (column("low_ns")):(column("high_ns")) nooutput
lo = STATS_min_x; hi = STATS_max_y
load "time_tics.gp"
set logscale x 2
here(p, s) = int(column("panel")) == p && int(column("series")) == s ? column("time_ns") : NaN
set key horizontal at screen 0.985, 0.865 right top samplen 2.5
set multiplot layout down(panels), across(panels) margins 0.095, 0.985, 0.12, 0.78 spacing 0.085, 0.13
do for [p = 0:panels - 1] {
    set title Panel[p + 1] offset 0, -0.6 font ",12"
    if (p < panels - across(panels)) { unset xlabel } else { set xlabel "max_seq (slots)" }
    plot for [s = 0:series - 1] data using (column("max_seq")):(here(p, s)):(column("low_ns")):(column("high_ns")) \
        with yerrorlines lw 2 pt mark(s) ps 0.8 lc rgb colour(s) title Series[s + 1]
    unset label 1; unset label 2; unset label 3; unset key
}
unset multiplot
