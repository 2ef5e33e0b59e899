"""peers_ort.py SLOTMARK ROUNDS FOLDER: ONNX Runtime's 4-bit matmul (MatMulNBits, int8 activations) and slotmark's, in turns.

2048 x 2048, one thread; multiply-adds a second, of ONNX Runtime by the thread's CPU time and with the quantising of
its rows, of slotmark with rows already quantised.
"""
import csv
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

SIDE = 2048
ROWS = (1, 8, 32, 128)
slotmark, rounds, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
random = np.random.default_rng(1)


def session(rows, block):
    weights = random.integers(0, 256, (SIDE, SIDE // block, block // 2), dtype=np.uint8)
    scales = random.random(SIDE * SIDE // block, dtype=np.float32) * 0.01 + 0.01
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=SIDE, N=SIDE, bits=4,
                            block_size=block, accuracy_level=4)
    graph = helper.make_graph(
        [node], "matmul", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, SIDE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, SIDE])],
        [helper.make_tensor("w", TensorProto.UINT8, weights.shape, weights.tobytes(), raw=True),
         helper.make_tensor("s", TensorProto.FLOAT, scales.shape, scales.tobytes(), raw=True)])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    made = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = made.io_binding()
    binding.bind_cpu_input("x", random.standard_normal((rows, SIDE)).astype(np.float32))
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_shape_and_type([rows, SIDE], np.float32))
    return made, binding


def rate(made, binding, rows):
    made.run_with_iobinding(binding)
    calls, begin = 0, time.thread_time()
    while time.thread_time() - begin < 0.05:
        made.run_with_iobinding(binding)
        calls += 1
    return rows * SIDE * SIDE * calls / (time.thread_time() - begin)


sessions = {(rows, block): session(rows, block) for block in (32, 128) for rows in ROWS}
theirs, ours = {key: [] for key in sessions}, {rows: [] for rows in ROWS}
for turn in range(rounds):
    for (rows, block), (made, binding) in sessions.items():
        theirs[rows, block].append(rate(made, binding, rows))
    run = subprocess.run([slotmark, "bench", "--family", "matmul_w4g32_a8", "--layout", "tile16", "--dim",
                          "rows=%s;out=%d;in=%d" % (",".join(map(str, ROWS)), SIDE, SIDE), "-o", "csv", "--out",
                          "%s/ort%d" % (folder, turn)], stdout=subprocess.PIPE, text=True, check=True)
    for case in csv.DictReader(run.stdout.splitlines()):
        rows = int(case["shape"].split()[0].split("=")[1])
        ours[rows].append(float(case["ops"]) / float(case["median_ns"]) * 1e9)

print("| 4-bit matmul, 1 thread, rows | slotmark, groups of 32, GMAC/s | ONNX Runtime, block | GMAC/s | ratio | over the rounds |")
print("|--:|--:|--:|--:|--:|:--|")
for (rows, block), rates in theirs.items():
    ratios = [a / b for a, b in zip(ours[rows], rates)]
    print("| %d | %.1f | %d | %.1f | %.2f | %.2f to %.2f, n = %d |" % (
        rows, statistics.median(ours[rows]) / 1e9, block, statistics.median(rates) / 1e9, statistics.median(ratios),
        min(ratios), max(ratios), len(ratios)))
print("\nONNX Runtime %s" % onnxruntime.__version__)
