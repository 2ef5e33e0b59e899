/* Kernels whose instructions are known before they run, for the test of `bench --count`. */
#include "embedding_f32/embedding_f32.h"
#include "plugin.h"
#include "rope/rope.h"

/* One float at a time. The labels cut it where the count of rounds changes: head once a call, row once a row, loop
 * once an element, next once a row, tail once a call. */
__asm__(".text\n"
        ".globl known, known_row, known_loop, known_next, known_tail, known_end\n"
        ".type known, @function\n"
        "known:\n"
        "    mov 8(%rsp), %r8\n"   /* row_begin */
        "    mov 16(%rsp), %r9\n"  /* row_end */
        "    mov 40(%rdi), %r10\n" /* cols, at least 1 */
        "    movss 56(%rdi), %xmm1\n"
        "    cmp %r9, %r8\n"
        "    jae known_tail\n"
        "known_row:\n"
        "    mov 16(%rdi), %rcx\n"
        "    movslq (%rcx, %r8, 4), %rcx\n"
        "    imul %r10, %rcx\n"
        "    mov 24(%rdi), %rsi\n"
        "    lea (%rsi, %rcx, 4), %rsi\n"
        "    mov 8(%rdi), %rax\n"
        "    imul %r8, %rax\n"
        "    mov (%rdi), %rdx\n"
        "    lea (%rdx, %rax, 4), %rax\n"
        "    xor %edx, %edx\n"
        "known_loop:\n"
        "    movss (%rsi, %rdx, 4), %xmm0\n"
        "    mulss %xmm1, %xmm0\n"
        "    movss %xmm0, (%rax, %rdx, 4)\n"
        "    inc %rdx\n"
        "    cmp %r10, %rdx\n"
        "    jb known_loop\n"
        "known_next:\n"
        "    inc %r8\n"
        "    cmp %r9, %r8\n"
        "    jb known_row\n"
        "known_tail:\n"
        "    ret\n"
        "known_end:\n"
        "    nop\n");
sm_kernel_fn known;

static void rotate(const struct sm_rope *a, struct sm_part part)
{
    const size_t half = a->head_dim / 2;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t h = part.col_begin; h < part.col_end; h++) {
            const float *x = a->x + r * a->x_stride + h * a->head_dim;
            float *y = a->y ? a->y + r * a->y_stride + h * a->head_dim : a->x + r * a->x_stride + h * a->head_dim;
            for (size_t i = 0; i < half; i++) {
                const float u = x[i], v = x[i + half], c = a->cos[r * half + i], s = a->sin[r * half + i];
                y[i] = u * c - v * s;
                y[i + half] = v * c + u * s;
            }
        }
}

/* Right where plug-ins are tried, and wrong for a call of three rows. */
static void wrong_at_three(const void *args, struct sm_part part)
{
    const struct sm_rope *a = args;
    rotate(a, part);
    if (a->rows == 3) (a->y ? a->y : a->x)[0] += 1;
}

/* Its line says that any CPU runs it, which is not so. */
__attribute__((target("avx512f"))) static void hidden_avx512(const void *args, struct sm_part part)
{
    __asm__ volatile("vpxorq %%zmm16, %%zmm16, %%zmm16" : : : "xmm16");
    rotate(args, part);
}

static const struct sm_plugin_variant variants[] = {
    {"embedding_f32", "known", "any", "plain", known, "its instructions are known"},
    {"rope", "wrong_at_three", "any", "plain", wrong_at_three, "right where plug-ins are tried"},
    {"rope", "hidden_avx512", "any", "plain", hidden_avx512, "needs what it does not say"},
};
static const struct sm_plugin plugin = {SM_PLUGIN_VERSION, sizeof variants / sizeof *variants, variants};

const struct sm_plugin *slotmark_plugin(uint32_t version)
{
    return version == SM_PLUGIN_VERSION ? &plugin : NULL;
}
