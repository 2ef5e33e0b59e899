"""Makes the files of this folder with the Python package tokenizers (0.23.3): python make.py TABLE.json FOLDER

TABLE.json is ../smollm2-135m/tokenizer-table.json: its texts, and random ones from a seed, are both what the small
vocabularies are trained on (with the prose below) and what they are asked for. For each tokenizer NAME.json is what the
package saves, and NAME.cases.json what it answers: ids without and with special tokens, and what it decodes them to.
"""
import json
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PROSE = """The mill stood where two rivers met, and nobody remembered which of them had given it its name. In spring the
water came up to the third step; in autumn it didn't reach the first. "We've measured it," said the miller's daughter,
"for 37 years, and it's never the same: 1.25 m, 0.98 m, 1,100 mm." She'd written every figure down, they're all there.
Die Mühle steht noch. Où est le meunier? Река течёт на север. 水車は回っている。 for (int i = 0; i < 10; i++) { sum += a[i]; }
"""
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def texts(table):
    found = [case["text"] for case in json.load(open(table))["cases"]]
    found += ["<s>", "a<s> b</s>", " <s>  x", "</s></s>", "<mask>", "a <mask>  b", "one  two   three", "    ",
              "x\n\n\n\ny", "HeLLo'LL we'Ve", "don't  stop", "a-b--c-", "-", "__a__", "<unk>", "\U0001d538\u0301", "zażółć"]
    rng = random.Random(20261129)
    pools = ["abcdefghij klmno pqrst uvwxyz ", " \t\n\r  ", "0123456789., ", "éüßñçøåÀ", "水車は回東京", "Река течёт",
             "😀👩\u200d🚀🇩🇪☀\ufe0f", "-_=+()[]{}'\"<>|/\\", "\u00a0\u2003\u3000\u2581", "the and ing er 's 'll"]
    for _ in range(120):
        found.append("".join("".join(rng.choice(pool) for _ in range(rng.randint(1, 6)))
                             for pool in rng.choices(pools, k=rng.randint(1, 8))))
    return found


def byte_level(pre, trained, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(trained, trainers.BpeTrainer(
        vocab_size=520, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<s>", "</s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True)])
    t.add_tokens([AddedToken("    ", normalized=False), AddedToken("=+", normalized=True)])
    return t


def characters(trained, unknown, fallback, normalizer=None, pre=None):
    t = Tokenizer(models.BPE(unk_token=unknown, fuse_unk=True, byte_fallback=fallback))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    bytes_ = [f"<0x{b:02X}>" for b in range(256)] if fallback else []
    t.train_from_iterator(trained, trainers.BpeTrainer(
        vocab_size=560 if fallback else 300, limit_alphabet=90, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>"] + bytes_))
    saved = json.loads(t.to_str())
    saved["added_tokens"] = [a for a in saved["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(saved))


def unigram(trained, pre, fallback):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Replace(Regex(" {3,}"), "  ")
    t.pre_tokenizer = pre
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.train_from_iterator(trained, trainers.UnigramTrainer(
        vocab_size=330, show_progress=False, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"]))
    saved = json.loads(t.to_str())
    saved["model"]["vocab"] = saved["model"]["vocab"][:330]
    if fallback:
        saved["model"]["byte_fallback"] = True
        saved["model"]["vocab"] += [[f"<0x{b:02X}>", 0.0] for b in range(256)]
    return Tokenizer.from_str(json.dumps(saved))


def around(t, single):
    t.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[(n, t.token_to_id(n)) for n in ("<s>", "</s>")])
    return t


def made(trained):
    spaced = normalizers.Replace(" ", "\u2581")
    yield "digits", byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]), trained)
    yield "llama3", around(byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), trained, ignore_merges=True), "<s> $A")
    yield "gpt2", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), trained)
    t = characters(trained, "<unk>", True, normalizers.Sequence([normalizers.Prepend("\u2581"), spaced]))
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    yield "llama2", around(t, "<s> $A </s>")
    t = characters(trained, "<unk>", True, spaced, pre_tokenizers.Split(" ", "merged_with_previous"))
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("  ", normalized=True)])
    yield "gemma", t
    t = characters(trained, "<unk>", False, None, pre_tokenizers.Sequence(
        [pre_tokenizers.Split("-", "merged_with_next"), pre_tokenizers.Split(Regex("[_=]"), "contiguous"),
         pre_tokenizers.Split("'", "merged_with_previous"), pre_tokenizers.Whitespace()]))
    t.decoder = decoders.Fuse()
    yield "split", t
    yield "unigram", around(unigram(trained, pre_tokenizers.Metaspace(prepend_scheme="first"), False), "$A </s>")
    yield "unigram-bytes", unigram(trained, pre_tokenizers.Metaspace(prepend_scheme="always", split=False), True)


def main(table, folder):
    asked = texts(table)
    for name, t in made(asked + PROSE.split("\n")):
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as out:
            out.write(t.to_str(pretty=False) + "\n")
        cases = []
        for text in asked:
            ids = t.encode(text, add_special_tokens=False).ids
            decoded = t.decode(ids, skip_special_tokens=False)
            case = {"text": text, "ids": ids, "ids_special": t.encode(text).ids}
            if "\ufffd" not in decoded:  # the package shows bytes that are no UTF-8 so
                case["decoded"] = decoded
            cases.append(case)
        with open(f"{folder}/{name}.cases.json", "w", encoding="utf-8") as out:
            out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")


main(*sys.argv[1:])
