"""peers_synthetic.py SRC.gguf OUT.gguf: a model of Llama-3.2-1B's shape with random weights (F16) and SRC's tokenizer.

For speed only: it says nothing sensible. 2048 wide, 16 layers, 32 query and 8 KV heads of 64, ffn 8192, tied
embeddings. Needs PyPI's gguf.
"""
import sys
import numpy as np
import gguf

src, out = sys.argv[1:3]
wide, layers, heads, kv_heads, ffn = 2048, 16, 32, 8, 8192
reader = gguf.GGUFReader(src)
w = gguf.GGUFWriter(out, "llama")
for f in reader.fields.values():
    if f.name.startswith("tokenizer.") and "chat_template" not in f.name:
        sub = f.types[-1] if f.types[0] == gguf.GGUFValueType.ARRAY else None
        w.add_key_value(f.name, f.contents(), f.types[0], sub_type=sub)
vocab = len(reader.fields["tokenizer.ggml.tokens"].data)
w.add_block_count(layers)
w.add_context_length(8192)
w.add_embedding_length(wide)
w.add_feed_forward_length(ffn)
w.add_head_count(heads)
w.add_head_count_kv(kv_heads)
w.add_rope_freq_base(500000.0)
w.add_layer_norm_rms_eps(1e-5)
w.add_vocab_size(vocab)
w.add_rope_dimension_count(wide // heads)
w.add_file_type(1)
rng = np.random.default_rng(1)
pool = (rng.standard_normal(1 << 24, dtype=np.float32) * 0.02).astype(np.float16)


def mat(name, rows, cols):
    at = int(rng.integers(0, 1 << 20))
    w.add_tensor(name, np.resize(pool[at:], rows * cols).reshape(rows, cols))


mat("token_embd.weight", vocab, wide)
w.add_tensor("output_norm.weight", np.ones(wide, np.float32))
for i in range(layers):
    b = f"blk.{i}."
    w.add_tensor(b + "attn_norm.weight", np.ones(wide, np.float32))
    w.add_tensor(b + "ffn_norm.weight", np.ones(wide, np.float32))
    mat(b + "attn_q.weight", wide, wide)
    mat(b + "attn_k.weight", kv_heads * 64, wide)
    mat(b + "attn_v.weight", kv_heads * 64, wide)
    mat(b + "attn_output.weight", wide, wide)
    mat(b + "ffn_gate.weight", ffn, wide)
    mat(b + "ffn_up.weight", ffn, wide)
    mat(b + "ffn_down.weight", wide, ffn)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
