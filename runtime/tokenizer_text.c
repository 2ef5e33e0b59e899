/* What an open tokenizer is asked for beside encoding: tokens to text, marks, sizes; and normalising. */
#include <stdio.h>
#include <stdlib.h>

#include "tokenizer_parts.h"

size_t sm_tokenizer_size(const struct sm_tokenizer *t)
{
    return t->count;
}

const char *sm_tokenizer_kind(const struct sm_tokenizer *t)
{
    return t->kind;
}

const char *sm_tokenizer_template(const struct sm_tokenizer *t)
{
    return t->chat_template ? t->chat_template : "";
}

int32_t sm_tokenizer_mark(const struct sm_tokenizer *t, enum sm_mark mark)
{
    return t->mark[mark];
}

bool sm_tokenizer_ends(const struct sm_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->end_count; i++)
        if (t->ends[i] == id) return true;
    return false;
}

int sm_tokenizer_fits(const struct sm_tokenizer *t, size_t vocab, char *why, size_t why_bytes)
{
    for (size_t i = vocab; i < t->count; i++) {
        const unsigned char kind = t->tokens[i].kind;
        if (kind == TOK_ABSENT || kind == TOK_CONTROL || kind == TOK_USER) continue;
        snprintf(why, why_bytes, "the tokenizer has %zu tokens, and the model knows %zu: they do not belong together",
                 t->count, vocab);
        return -1;
    }
    return 0;
}

/* --- tokens to text --- */

static int text_put(struct sm_text *text, const char *from, size_t bytes, const struct tok_why *why)
{
    if (tok_room((void **)&text->at, &text->room, text->bytes + bytes + 1, 1, why)) return -1;
    memcpy(text->at + text->bytes, from, bytes);
    text->bytes += bytes;
    text->at[text->bytes] = 0;
    return 0;
}

/* A token's text with its spaces shown, less the space that was put before a text. */
static int put_spelt(struct sm_text *text, const struct sm_tokenizer *t, const char *from, size_t bytes,
                     const struct tok_why *why)
{
    for (size_t at = 0; at < bytes;) {
        const char *space = memmem(from + at, bytes - at, TOK_SPACE, 3);
        const size_t run = space ? (size_t)(space - from) - at : bytes - at;
        if (text_put(text, from + at, run, why)) return -1;
        at += run;
        if (!space) break;
        if (!(t->strip_first && !text->begun && at == 0) && text_put(text, " ", 1, why)) return -1;
        at += 3;
    }
    return 0;
}

/* How much of a text may be shown: all but a character at its end that more bytes could complete. */
static size_t ready(const char *text, size_t bytes)
{
    for (size_t back = 1; back <= 3 && back <= bytes; back++) {
        const unsigned char c = (unsigned char)text[bytes - back];
        if (c >= 0xc2 && c < 0xf5) {
            const size_t length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
            return length > back ? bytes - back : bytes;
        }
        if ((c & 0xc0) != 0x80) break;
    }
    return bytes;
}

int sm_text_add(struct sm_text *text, const struct sm_tokenizer *t, int32_t id, bool markers, char *why,
                size_t why_bytes)
{
    const struct tok_why sentence = {why, why_bytes, "turning tokens into", "text"};
    if (!text->at && text_put(text, "", 0, &sentence)) return -1;
    if (id < 0 || (size_t)id >= t->count || t->tokens[id].kind == TOK_ABSENT)
        return tok_refuse(&sentence, "there is no token %d: the vocabulary has 0 to %zu", (int)id, t->count - 1);
    const struct tok_token *token = &t->tokens[id];
    const char *from = tok_text(t, id);
    int failed = 0;
    if (token->kind == TOK_CONTROL || token->kind == TOK_UNKNOWN) {
        if (!markers) return 0;
        text->begun = true;
        failed = text_put(text, from, token->bytes, &sentence);
    } else {
        failed = t->unescape && token->kind != TOK_BYTE ? put_spelt(text, t, from, token->bytes, &sentence)
                                                        : text_put(text, from, token->bytes, &sentence);
        text->begun = true;
    }
    text->ready = ready(text->at, text->bytes);
    return failed;
}

void sm_text_free(struct sm_text *text)
{
    free(text->at);
    *text = (struct sm_text){0};
}

int sm_tokenizer_decode(const struct sm_tokenizer *t, const int32_t *ids, size_t count, bool markers, char **text,
                        size_t *bytes, char *why, size_t why_bytes)
{
    const struct tok_why sentence = {why, why_bytes, "turning tokens into", "text"};
    struct sm_text all = {0};
    *text = NULL;
    *bytes = 0;
    if (text_put(&all, "", 0, &sentence)) return -1;
    for (size_t i = 0; i < count; i++)
        if (sm_text_add(&all, t, ids[i], markers, why, why_bytes)) {
            sm_text_free(&all);
            return -1;
        }
    *text = all.at;
    *bytes = all.bytes;
    return 0;
}

/* --- normalising --- */

/* Every occurrence of `from` becomes `to`. */
static int replace_text(struct tok_work *w, const struct tok_normal *step, const char *text, size_t bytes,
                        struct tok_buffer *out)
{
    const size_t to_bytes = strlen(step->to), from_bytes = strlen(step->from);
    for (size_t at = 0; at < bytes;) {
        const char *found = memmem(text + at, bytes - at, step->from, from_bytes);
        const size_t run = found ? (size_t)(found - text) - at : bytes - at;
        if (tok_append(out, text + at, run, w->why)) return -1;
        if (found && tok_append(out, step->to, to_bytes, w->why)) return -1;
        at += run + (found ? from_bytes : 0);
    }
    return 0;
}

/* Every match becomes `to`; bytes that are no UTF-8 stay. */
static int replace_matches(struct tok_work *w, const struct tok_normal *step, const char *text, size_t bytes,
                           struct tok_buffer *out)
{
    const size_t to_bytes = strlen(step->to);
    while (bytes) {
        const size_t valid = sm_utf8_valid(text, bytes), wrong = valid < bytes;
        for (size_t at = 0, begin, end; at < valid; at = end) {
            const int found = tok_match(w, step->code, text, valid, at, &begin, &end);
            if (found < 0) return -1;
            if (!found) begin = end = valid;
            if (tok_append(out, text + at, begin - at, w->why)) return -1;
            if (found && tok_append(out, step->to, to_bytes, w->why)) return -1;
        }
        if (tok_append(out, text + valid, wrong, w->why)) return -1;
        text += valid + wrong;
        bytes -= valid + wrong;
    }
    return 0;
}

int tok_normalise(struct tok_work *w, const char *text, size_t bytes)
{
    struct tok_buffer *out = &w->buffer[0], *in = &w->buffer[1];
    for (size_t i = 0; i < w->t->normals; i++) {
        const struct tok_normal *step = &w->t->normal[i];
        out->bytes = 0;
        if (tok_append(out, "", 0, w->why)) return -1;
        if (step->code || step->from) {
            if ((step->code ? replace_matches : replace_text)(w, step, text, bytes, out)) return -1;
        } else if (bytes &&
                   (tok_append(out, step->to, strlen(step->to), w->why) || tok_append(out, text, bytes, w->why))) {
            return -1;
        }
        if (i + 1 == w->t->normals) return 0;
        const struct tok_buffer swap = *in;
        *in = *out;
        *out = swap;
        text = in->at;
        bytes = in->bytes;
    }
    return 0;
}
