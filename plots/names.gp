# Panels and series by name, from the table.
stats data using (note_panel(int(column("panel")), strcol("panel_label"))):(note_series(int(column("series")), strcol("series_label"))) nooutput
