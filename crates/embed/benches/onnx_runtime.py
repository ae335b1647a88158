"""Measures ONNX Runtime on the same weights, as JSON on standard output.

    onnx_runtime.py MODEL.SAFETENSORS THREADS TEXTS PIECES

The graph is built here from the weights, with ONNX Runtime's own fused operators (Attention, SkipLayerNormalization,
BiasGelu): the form its transformer optimiser arrives at. Word pieces come ready, and the result is left as one row per
token; the Rust side splits the text and pools as well.
"""

import json
import sys
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

HEADS = 12
EPSILON = 1e-12
FUSED = "com.microsoft"


class Graph:
    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.constants = {}

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def transposed(self, name):
        return self.constant(name, self.weights[name].T)

    def node(self, operator, inputs, domain="", **attributes):
        output = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def norm(self, update, hidden, bias, prefix):
        parts = [self.weight(f"{prefix}.LayerNorm.weight"), self.weight(f"{prefix}.LayerNorm.bias"), bias]
        return self.node("SkipLayerNormalization", [update, hidden, *parts], FUSED, epsilon=EPSILON)

    def layer(self, index, hidden):
        prefix = f"encoder.layer.{index}"
        parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        inputs = [hidden, self.constant(f"{prefix}.qkv", weight), self.constant(f"{prefix}.qkv_bias", bias), "mask"]
        context = self.node("Attention", inputs, FUSED, num_heads=HEADS)
        output = f"{prefix}.attention.output"
        update = self.node("MatMul", [context, self.transposed(f"{output}.dense.weight")])
        hidden = self.norm(update, hidden, self.weight(f"{output}.dense.bias"), output)
        dense = f"{prefix}.intermediate.dense"
        wide = self.node("MatMul", [hidden, self.transposed(f"{dense}.weight")])
        wide = self.node("BiasGelu", [wide, self.weight(f"{dense}.bias")], FUSED)
        update = self.node("MatMul", [wide, self.transposed(f"{prefix}.output.dense.weight")])
        return self.norm(update, hidden, self.weight(f"{prefix}.output.dense.bias"), f"{prefix}.output")


def build(weights, pieces):
    graph = Graph(weights)
    words = graph.node("Gather", [graph.weight("embeddings.word_embeddings.weight"), "ids"])
    positions = weights["embeddings.position_embeddings.weight"][:pieces]
    positions = positions + weights["embeddings.token_type_embeddings.weight"][0]
    summed = graph.node("Add", [words, graph.constant("positions", positions)])
    norm = [graph.weight("embeddings.LayerNorm.weight"), graph.weight("embeddings.LayerNorm.bias")]
    hidden = graph.node("LayerNormalization", [summed, *norm], axis=-1, epsilon=EPSILON)
    for index in range(6):
        hidden = graph.layer(index, hidden)
    shape = ["texts", "pieces"]
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, shape),
        helper.make_tensor_value_info("mask", TensorProto.INT32, shape),
    ]
    outputs = [helper.make_tensor_value_info(hidden, TensorProto.FLOAT, [*shape, 384])]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, list(graph.constants.values()))
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(body, opset_imports=versions, ir_version=9).SerializeToString()


def main():
    weights = load_file(sys.argv[1])
    threads, texts, pieces = map(int, sys.argv[2:5])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(build(weights, pieces), options, providers=["CPUExecutionProvider"])
    cat = 4937
    ids = np.array([[101, *[cat] * (pieces - 2), 102]] * texts)
    feed = {"ids": ids, "mask": np.ones((texts, pieces), np.int32)}
    times = []
    for run in range(65):
        start = time.perf_counter()
        rows = session.run(None, feed)[0]
        if run >= 5:
            times.append((time.perf_counter() - start) * 1e3)
    vector = rows[0].mean(axis=0)
    vector = vector / np.linalg.norm(vector)
    print(json.dumps({"median_ms": sorted(times)[len(times) // 2], "first_components": vector[:4].tolist()}))


if __name__ == "__main__":
    main()
