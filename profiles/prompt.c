#include "prompt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILE ((size_t)1 << 30)

int sm_prompt_tokenizer(struct sm_tokenizer **tokenizer, const struct sm_model *model, char *why, size_t why_bytes)
{
    *tokenizer = NULL;
    if (!model->file) {
        snprintf(why, why_bytes, "text needs a tokenizer, and synthetic weights have none: name a model file");
        return -1;
    }
    if (sm_tokenizer_open(tokenizer, model->file, why, why_bytes)) return -1;
    if (!sm_tokenizer_fits(*tokenizer, model->shape.vocab, why, why_bytes)) return 0;
    sm_tokenizer_close(*tokenizer);
    *tokenizer = NULL;
    return -1;
}

int sm_prompt_read(const char *path, char **text, size_t *bytes, char *why, size_t why_bytes)
{
    FILE *in = fopen(path, "rb");
    char *all = NULL;
    size_t n = 0, room = 0, got;
    *text = NULL;
    *bytes = 0;
    if (!in) {
        snprintf(why, why_bytes, "cannot read the text of '%s': %s", path, strerror(errno));
        return -1;
    }
    do {
        if (room - n < 4096) {
            room = room ? 2 * room : 65536;
            char *more = room <= MOST_FILE ? realloc(all, room) : NULL;
            if (!more) {
                snprintf(why, why_bytes, "the text of '%s' is too long to be read", path);
                goto fail;
            }
            all = more;
        }
        got = fread(all + n, 1, room - n - 1, in);
        n += got;
    } while (got);
    if (ferror(in)) {
        snprintf(why, why_bytes, "cannot read the text of '%s' to its end: %s", path, strerror(errno));
        goto fail;
    }
    fclose(in);
    all[n] = 0;
    *text = all;
    *bytes = n;
    return 0;
fail:
    fclose(in);
    free(all);
    return -1;
}

int sm_prompt_tokens(const struct sm_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags,
                     int32_t **tokens, size_t *count, char *why, size_t why_bytes)
{
    if (sm_tokenizer_encode(tokenizer, text, bytes, flags, tokens, count, why, why_bytes)) return -1;
    if (*count) return 0;
    snprintf(why, why_bytes, "the text holds no token");
    free(*tokens);
    *tokens = NULL;
    return -1;
}

/* --- chat --- */

static const struct style {
    const char *marker; /* that a vocabulary must have */
    const char *system[2], *user[2], *model;
} styles[] = {
    {"<|im_start|>",
     {"<|im_start|>system\n", "<|im_end|>\n"},
     {"<|im_start|>user\n", "<|im_end|>\n"},
     "<|im_start|>assistant\n"},
    {"<|start_header_id|>",
     {NULL, NULL},
     {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
     "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"<start_of_turn>", {NULL, NULL}, {"<start_of_turn>user\n", "<end_of_turn>\n"}, "<start_of_turn>model\n"},
    {"<|turn>", {NULL, NULL}, {"<|turn>user\n", "<turn|>\n"}, "<|turn>model\n"},
};

/* The literal system message of a ChatML template, and its bytes: what stands between its markers, if nothing in it has
 * to be filled in. NULL: there is none. */
static const char *default_system(const char *chat_template, size_t *bytes)
{
    static const char begin[] = "<|im_start|>system", end[] = "<|im_end|>";
    const char *at = strstr(chat_template, begin), *stop;
    if (!at) return NULL;
    at += strlen(begin);
    if (*at == '\n')
        at++;
    else if (!strncmp(at, "\\n", 2))
        at += 2;
    else
        return NULL;
    stop = strstr(at, end);
    *bytes = stop ? (size_t)(stop - at) : 0;
    return stop && strcspn(at, "'\"{}\\") > *bytes ? at : NULL;
}

int sm_prompt_chat(const struct sm_tokenizer *tokenizer, const char *text, char **chat, char *why, size_t why_bytes)
{
    const struct style *style = NULL;
    size_t bytes = strlen(text), system_bytes = 0;
    for (size_t i = 0; i < sizeof styles / sizeof *styles && !style; i++)
        if (sm_tokenizer_marker(tokenizer, styles[i].marker) >= 0) style = &styles[i];
    if (!style) {
        snprintf(why, why_bytes,
                 "the vocabulary has none of the turn markers that are known here (ChatML, Llama 3, Gemma): "
                 "write the markers of this model into the prompt");
        return -1;
    }
    while (bytes && strchr(" \t\r\n", text[bytes - 1])) bytes--;
    const char *system = style->system[0] ? default_system(sm_tokenizer_template(tokenizer), &system_bytes) : NULL;
    const int n =
        asprintf(chat, "%s%.*s%s%s%.*s%s%s", system ? style->system[0] : "", (int)system_bytes, system ? system : "",
                 system ? style->system[1] : "", style->user[0], (int)bytes, text, style->user[1], style->model);
    if (n >= 0) return 0;
    *chat = NULL;
    snprintf(why, why_bytes, "there is no memory for a prompt of %zu bytes", bytes);
    return -1;
}

/* --- shown --- */

static void put_shown(FILE *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const size_t valid = sm_utf8_valid(text + at, bytes - at);
        for (size_t i = at; i < at + valid; i++) {
            const unsigned char c = (unsigned char)text[i];
            fputc((c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : c, out);
        }
        at += valid;
        if (at == bytes) break;
        fputs("\xef\xbf\xbd", out);
        do at++;
        while (at < bytes && !sm_utf8_valid(text + at, bytes - at < 4 ? bytes - at : 4));
    }
}

int sm_prompt_show(FILE *out, const struct sm_tokenizer *tokenizer, const int32_t *tokens, size_t count, char *why,
                   size_t why_bytes)
{
    char *text;
    size_t n = 0, bytes;
    while (n < count && !sm_tokenizer_ends(tokenizer, tokens[n])) n++;
    /* A model may have more rows than its tokenizer has tokens: what stands for none ends the text as well. */
    for (size_t i = 0; i < n; i++)
        if ((size_t)tokens[i] >= sm_tokenizer_size(tokenizer)) n = i;
    if (sm_tokenizer_decode(tokenizer, tokens, n, false, &text, &bytes, why, why_bytes)) return -1;
    put_shown(out, text, bytes);
    free(text);
    return 0;
}
