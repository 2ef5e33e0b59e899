# A map of boxes, coloured by a tax: 1 is white, 2 is orange, 4 and more is dark. Its text in each box.
tax_colour(t) = t <= 1 ? 0xffffff : \
    t < 2 ? blend(0xffffff, 0xfdc086, t - 1) : t < 4 ? blend(0xfdc086, 0xb2182b, (t - 2) / 2) : 0x7f0010
part(c, shift) = (int(c) >> shift) & 255
mix(a, b, share, shift) = int(part(a, shift) + share * (part(b, shift) - part(a, shift))) << shift
blend(a, b, share) = mix(a, b, share, 16) + mix(a, b, share, 8) + mix(a, b, share, 0)
tax_text(t) = t < 9.95 ? sprintf("%.2f", t) : sprintf("%.0f", t)
tax_ink(t) = t > 2.7 ? 0xffffff : 0x222222
unset grid
set style fill solid 1 border rgb "#eeeeee"
