# Marks of a logarithmic axis of rates from lo to hi: 0.1, 1, 10; 1, 2 and 5 when that would be few.
set logscale y 10
set ytics ()
set yrange [lo / 1.3:hi * 1.3]
do for [e = floor(log10(lo)) - 1 : ceil(log10(hi))] {
    set ytics add (sprintf("%g", 10.0 ** e) 10.0 ** e)
    if (hi / lo < 300) {
        set ytics add (sprintf("%g", 2 * 10.0 ** e) 2 * 10.0 ** e)
        set ytics add (sprintf("%g", 5 * 10.0 ** e) 5 * 10.0 ** e)
    }
}
