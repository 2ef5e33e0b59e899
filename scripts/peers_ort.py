"""peers_ort.py SLOTMARK: ONNX Runtime's 4-bit matmul (MatMulNBits, int8 activations) and slotmark's, one after the other.

2048 x 2048, one thread; multiply-adds a second, of ONNX Runtime by the thread's CPU time and with the quantising of
its rows, of slotmark with rows already quantised. Prints JSON.
"""
import csv
import json
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

SIDE = 2048
ROWS = (1, 8, 32, 128)
slotmark = sys.argv[1]
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


theirs = {(rows, block): rate(*session(rows, block), rows) for block in (32, 128) for rows in ROWS}
with tempfile.TemporaryDirectory() as records:
    run = subprocess.run([slotmark, "bench", "--family", "matmul_w4g32_a8", "--layout", "tile32", "--dim",
                          "rows=%s;out=%d;in=%d" % (",".join(map(str, ROWS)), SIDE, SIDE), "-o", "csv", "--out", records],
                         stdout=subprocess.PIPE, text=True, check=True)
ours = {}
for case in csv.DictReader(run.stdout.splitlines()):
    rows = int(case["shape"].split()[0].split("=")[1])
    ours[rows] = float(case["ops"]) / float(case["median_ns"]) * 1e9
json.dump([dict(rows=rows, block=block, slotmark=ours[rows], onnxruntime=rate_, version=onnxruntime.__version__)
           for (rows, block), rate_ in theirs.items()], sys.stdout)
