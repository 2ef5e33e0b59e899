# Marks of a logarithmic time axis from lo to hi (ns): 1 µs, 10 µs, ...; 1, 2 and 5 when that would be few.
set logscale y 10
set ytics ()
set yrange [lo / 1.3:hi * 1.3]
do for [e = floor(log10(lo)) - 1 : ceil(log10(hi))] {
    set ytics add (spell(10.0 ** e) 10.0 ** e)
    if (hi / lo < 300) {
        set ytics add (spell(2 * 10.0 ** e) 2 * 10.0 ** e)
        set ytics add (spell(5 * 10.0 ** e) 5 * 10.0 ** e)
    }
}
