# Bars that lie, a panel for each unit: rows of panel, panel_label, bar, name, value.
array Count[16]
array Most[16]
array Names[1024]
do for [i = 1:16] { Count[i] = 0; Most[i] = 0 }
note_bar(p, i, s) = (Names[64 * p + i + 1] = s, Count[p + 1] = i + 1 > Count[p + 1] ? i + 1 : Count[p + 1], i)
note_value(p, v) = (Most[p + 1] = v > Most[p + 1] ? v : Most[p + 1], v)
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_bar(int(column("panel")), int(column("bar")), strcol("name"))) nooutput
stats data using (note_value(int(column("panel")), column("value"))) nooutput
set style fill solid 0.9 noborder
unset grid; set grid xtics lc rgb "#dddddd" lt 1 lw 0.7
