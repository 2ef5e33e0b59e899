# The names of the series in a row under the subtitle, wrapped where the picture ends: a key that covers no data.
# key_colour(s) and key_mark(s) may be redefined before.
array Wide[32]
key_x = 0.03
key_y = 0.862
do for [s = 0:series - 1] {
    if (Series[s + 1] ne "") {
        wide = 0.045 + 0.0087 * strlen(Series[s + 1])
        if (key_x > 0.03 && key_x + wide > 1.0) { key_x = 0.03; key_y = key_y - 0.034 }
        set label 10 + s Series[s + 1] at screen key_x, key_y left font ",11" offset 0.8, 0 \
            point pt key_mark(s) ps 1 lc rgb key_colour(s)
        key_x = key_x + wide
    }
}
panel_top = key_y - 0.085
