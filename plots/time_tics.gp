# Marks of a logarithmic time axis from lo to hi (ns): 1 µs, 10 µs, ...; 1, 2 and 5 when that would be few.
set logscale y 10
set ytics ()
set mytics default
decade = 10 ** floor(log10(lo))
bottom = lo / decade >= 5 ? 5 * decade : lo / decade >= 2 ? 2 * decade : decade
decade = 10 ** floor(log10(hi))
top = hi > 5 * decade ? 10 * decade : hi > 2 * decade ? 5 * decade : hi > decade ? 2 * decade : decade
top = top > bottom ? top : 2 * bottom
set yrange [bottom:top]
fine = top / bottom < 120
do for [e = floor(log10(bottom)) : ceil(log10(top))] {
    set ytics add (spell(10.0 ** e) 10.0 ** e)
    if (fine) {
        set ytics add (spell(2 * 10.0 ** e) 2 * 10.0 ** e)
        set ytics add (spell(5 * 10.0 ** e) 5 * 10.0 ** e)
    }
}
