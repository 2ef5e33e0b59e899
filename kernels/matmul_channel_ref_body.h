/* matmul_channel_ref_body.h - matmul_channel.h as it is written there.
 *
 * Included by one variant, which defines ARGS (its family's argument struct), BITS and SCALE_OF(x, r) first. */
static int64_t dot(const uint8_t *w, int32_t zero, const ARGS *a, size_t r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < a->in; i++) {
        const int32_t q = BITS == 8 ? w[i] : (w[i / 2] >> i % 2 * 4) & 15;
        sum += (int64_t)(q - zero) * a->x.q[r * a->in + i];
    }
    return sum;
}

static void matmul(const ARGS *a, struct sm_part part)
{
    const size_t row_bytes = sm_channel_bytes(a->in, BITS);
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t o = part.col_begin; o < part.col_end; o++) {
            const uint8_t *w = (const uint8_t *)a->w + o * row_bytes;
            const struct sm_channel *head = (const struct sm_channel *)(const void *)w;
            float y = head->scale * SCALE_OF(a->x, r) * (float)dot(w + sizeof *head, head->zero, a, r);
            if (a->bias) y += a->bias[o];
            if (a->residual) y += a->residual[r * a->y_stride + o];
            a->y[r * a->y_stride + o] = y;
        }
}
