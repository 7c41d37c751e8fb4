"""The encoder and decoder graphs, node by node.

They are written by hand and not traced: a decoder step on one question is so little
arithmetic that the number of nodes is what it costs. ONNX Runtime's ``MultiHeadAttention``
is all between projections in one node.

*Encoder*: reads questions once and gives what the pointer head needs of them, and the keys
and values of every cross-attention. *Decoder*: one step of a beam search, ending in the
best continuations.

All hypotheses of an item share one cache. Each step writes the keys and values of
its hypotheses into new places, and ``visible`` tells which places belong to whose
past. So nothing is reordered when hypotheses branch, and memory of the question is
never copied per hypothesis. The caches come back as outputs of the same shape, to
be bound to the same memory.

Attention costs by the places that it looks over, needed or not, and items need very
different numbers of them. So items share a *shelf*, a row of the caches, like short books, and
are hidden from each other as a future is; the same goes for what the encoder gave
(:mod:`service.engine.spans`).

Shapes as in :mod:`models.transformer`; N hypotheses altogether, W at most of one
item, P places on a shelf of the caches, Q on one of questions. What each hypothesis needs for
itself is computed on the N that there are; they are spread over a grid only to look at what is
shared: (B, W) by items, (R, U) by shelves of the caches, (X, Y) by shelves of questions. The
encoder does so, too, with T tokens and the questions they are of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.config import ModelConfig
from models.paths import DIGITS, path_table
from models.transformer import MASKED

Floats = npt.NDArray[np.float32]
Weights = Mapping[str, Floats]
#: Layer -> least and greatest number that it is given.
Ranges = Mapping[str, tuple[float, float]]
Precision = Literal["float32", "float16"]

OPSET = 20
_CONTRIB = "com.microsoft"
_EPSILON = 1e-5  # torch's, in every LayerNorm


class Graph:
    """A graph that grows by one node at a time; values are known by their names."""

    def __init__(
        self, weights: Weights, config: ModelConfig, precision: Precision, ranges: Ranges | None
    ) -> None:
        self.weights = weights
        self.config = config
        self.ranges = ranges
        self.dtype = np.dtype(precision)
        self.element = helper.np_dtype_to_tensor_dtype(self.dtype)
        self._nodes: list[onnx.NodeProto] = []
        self._quantised_already: dict[tuple[str, float, float], str] = {}
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], element: int = 0) -> str:
        """An input of the graph, of the graph's precision unless told otherwise."""
        self._inputs.append(helper.make_tensor_value_info(name, element or self.element, shape))
        return name

    def output(self, name: str, shape: Sequence[int | str], element: int = 0) -> None:
        """Make ``name`` an output."""
        self._outputs.append(helper.make_tensor_value_info(name, element or self.element, shape))

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        """A constant; floats in the graph's precision."""
        if name not in self._initializers:
            kind = self.dtype if value.dtype == np.float32 else value.dtype
            array = np.ascontiguousarray(value.astype(kind))
            self._initializers[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str) -> str:
        """A weight of the network as it is."""
        return self.constant(name, self.weights[name])

    def add(
        self, operator: str, *inputs: str, output: str = "", contrib: bool = False, **given: Any
    ) -> str:
        """A node with one output."""
        return self.add_many(
            operator, *inputs, outputs=[output or self.fresh()], contrib=contrib, **given
        )[0]

    def add_many(
        self,
        operator: str,
        *inputs: str,
        outputs: Sequence[str],
        contrib: bool = False,
        **given: Any,
    ) -> Sequence[str]:
        """A node with ``outputs``."""
        domain = _CONTRIB if contrib else ""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(operator, inputs, outputs, name=name, domain=domain, **given)
        )
        return outputs

    def fresh(self) -> str:
        """A name for a value that nobody has to find."""
        return f"v{len(self._nodes)}"

    def linear(
        self,
        x: str,
        name: str,
        parts: Sequence[str] = ("",),
        *,
        scale: float = 1.0,
        bias: bool = True,
        exact: bool = False,
        output: str = "",
    ) -> str:
        """The linear layers ``name + part`` of x (N, I) side by side, their result times ``scale``.

        Quantised in an int8 graph unless ``exact``.
        """
        weight, offset = (
            np.concatenate([self.weights[f"{name}{part}.{kind}"] for part in parts])
            * np.float32(scale)
            for kind in ("weight", "bias")
        )
        called = f"{name}{'+'.join(parts)}"
        biases = [self.constant(f"{called}.bias", offset)] if bias else []
        if self.ranges is not None and not exact:
            low, high = self.ranges[name + parts[0]]
            return self._quantised(x, called, weight, biases, low, high, output)
        by = self.constant(f"{called}.weight", weight.T)
        return self.add("Gemm" if bias else "MatMul", x, by, *biases, output=output)

    def split(self, joined: str, name: str) -> Sequence[str]:
        """Query, keys and values of the layer ``name``, of which the last axis is made up."""
        parts = [f"{name}.{part}" for part in ("query", "keys", "values")]
        if not self.config.shared_keys:
            return self.add_many("Split", joined, outputs=parts, axis=-1, num_outputs=3)
        sizes = np.array([self.config.width, self.config.head, self.config.head])
        return self.add_many("Split", joined, self.constant("sizes", sizes), outputs=parts, axis=-1)

    def _quantised(
        self,
        x: str,
        name: str,
        weight: Floats,
        biases: Sequence[str],
        low: float,
        high: float,
        output: str,
    ) -> str:
        low, high = min(low, 0.0), max(high, 0.0)
        step = max(high - low, 1e-6) / 255
        steps = np.maximum(np.abs(weight).max(1), 1e-12) / 127
        given = (
            self.constant(f"{name}.step", np.array(step, np.float32)),
            self.constant(f"{name}.zero", np.array(round(-low / step), np.uint8)),
        )
        if (x, low, high) not in self._quantised_already:
            self._quantised_already[x, low, high] = self.add("QuantizeLinear", x, *given)
        return self.add(
            "MatMulIntegerToFloat",
            self._quantised_already[x, low, high],
            self.constant(f"{name}.weight", np.rint(weight / steps[:, None]).astype(np.int8).T),
            given[0],
            self.constant(f"{name}.steps", steps.astype(np.float32)),
            given[1],
            *("", *biases) if biases else (),
            contrib=True,
            output=output,
        )

    def feed(self, x: str, name: str) -> str:
        """The position-wise network."""
        inner = self.linear(x, f"{name}.0", bias=False)
        inner = self.add("FastGelu", inner, self.weight(f"{name}.0.bias"), contrib=True)
        return self.linear(inner, f"{name}.2")

    def summed(self, table: str, rows: str, count: int) -> str:
        """The sum of ``count`` rows of ``table`` for each column of ``rows`` (``count``, N).

        Multiplied by ones, for a third of the time that ONNX Runtime's ``ReduceSum`` takes.
        """
        each = self.add("Gather", table, rows)
        flat = self.add("Reshape", each, self.constant("flat", np.array([count, -1])))
        ones = self.constant("ones", np.ones((1, count), np.float32))
        total = self.add("MatMul", ones, flat)
        shape = self.constant("by_row", np.array([-1, self.config.width]))
        return self.add("Reshape", total, shape)

    def norm(self, x: str, name: str) -> str:
        """The layer norm ``name`` of x."""
        given = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", x, *given, epsilon=_EPSILON)

    def attention(self, query: str, keys: str, values: str, hidden: str) -> str:
        """Multi-head attention of query (B, M, C); keys and values (B, G, N, D) or (B, N, G D).

        ``hidden`` is what :meth:`hidden` gives for (B, 1, M, N). G is H, or 1 where heads share
        keys: then the heads are more rows of one, M H.
        """
        heads, shared = self.config.heads, self.config.shared_keys
        if shared:
            rows = self.constant("as_rows", np.array([0, -1, self.config.head]))
            query = self.add("Reshape", query, rows)
        mixed = self.add(
            "MultiHeadAttention",
            *(query, keys, values, "", "", hidden),
            contrib=True,
            num_heads=1 if shared else heads,
        )
        if shared:
            side_by_side = self.constant("as_heads", np.array([0, -1, self.config.width]))
            mixed = self.add("Reshape", mixed, side_by_side)
        return mixed

    def hidden(self, seen: str) -> str:
        """What hides from :meth:`attention` all that is not ``seen``, bool (B, 1, M, N)."""
        zero = np.array(0, np.float32)
        masked = self.constant("masked", np.array(MASKED, np.float32))
        if not self.config.shared_keys:
            return self.add("Where", seen, self.constant("zero", zero), masked)
        # the same for each head of a row: (B, M, 1, N) -> (B, M, H, N) -> (B, 1, M H, N)
        apart = self.add("Reshape", seen, self.constant("apart", np.array([0, -1, 1, 0])))
        zeros = self.constant("zeros", np.broadcast_to(zero, (self.config.heads, 1)))
        hidden = self.add("Where", apart, zeros, masked)
        return self.add("Reshape", hidden, self.constant("together", np.array([0, 1, -1, 0])))

    def model(self) -> onnx.ModelProto:
        """What has grown."""
        graph = helper.make_graph(
            self._nodes,
            "graph",
            self._inputs,
            self._outputs,
            list(self._initializers.values()),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _layered(name: str, layers: int) -> list[str]:
    return [f"{name}_{kind}_{layer}" for layer in range(layers) for kind in ("keys", "values")]


def encoder(
    weights: Weights, config: ModelConfig, precision: Precision, ranges: Ranges | None = None
) -> onnx.ModelProto:
    """Questions to all that a decoder asks of them; T tokens altogether.

    int64 ``tokens`` (T,) and ``digits`` (E, T) of their paths (:mod:`models.paths`); ``grid``
    (X, Q), which token is in a place on a shelf, any where there is none; ``cells`` (T, 2), shelf
    and place of each token; ``seen`` bool (X, 1, Q, Q), what is of the same question ->
    ``pointer_keys`` and ``pointer_values`` (T, C); ``cross`` (T, 2 L G D), keys and values of the
    first layer of the decoder, then of the next.
    """
    g = Graph(weights, config, precision, ranges)
    tokens = g.input("tokens", ["tokens"], TensorProto.INT64)
    digits = g.input("digits", [DIGITS, "tokens"], TensorProto.INT64)
    grid = g.input("grid", ["shelves", "places"], TensorProto.INT64)
    cells = g.input("cells", ["tokens", 2], TensorProto.INT64)
    seen = g.input("seen", ["shelves", 1, "places", "places"], TensorProto.BOOL)
    words = g.add("Gather", g.weight("source_embedding.weight"), tokens)
    table = g.constant("source_paths", path_table(weights["source_path.project.weight"]))
    total = g.add("Add", words, g.summed(table, digits, DIGITS))
    hidden = g.hidden(seen)
    for layer in range(config.encoder_layers):
        name = f"encoder.{layer}"
        x = g.norm(total, f"{name}.norm1")
        joined = g.linear(x, f"{name}.attention.", ("query", "key_value"))
        query, keys, values = g.split(g.add("Gather", joined, grid), name)
        mixed = g.add("GatherND", g.attention(query, keys, values, hidden), cells)
        total = g.add("Add", total, g.linear(mixed, f"{name}.attention.output"))
        x = g.norm(total, f"{name}.norm2")
        total = g.add("Add", total, g.feed(x, f"{name}.feed"))
    memory = g.norm(total, "encoder_norm")
    for name in ("pointer_key", "pointer_value"):
        g.linear(memory, name, exact=True, output=f"{name}s")
    layers = [f"{layer}.cross.key_value" for layer in range(config.decoder_layers)]
    g.linear(memory, "decoder.", layers, output="cross")
    for name in ("pointer_keys", "pointer_values"):
        g.output(name, ["tokens", config.width])
    g.output("cross", ["tokens", 2 * config.decoder_layers * config.key_heads * config.head])
    return g.model()


def decoder(
    weights: Weights, config: ModelConfig, precision: Precision, ranges: Ranges | None = None
) -> onnx.ModelProto:
    """One step of a beam search for each of B items.

    Told anew at each step, int64 where not said otherwise: ``words`` (2 + E, N), rows of the
    joined table (:mod:`models.paths`) that describe a hypothesis: previous token, parent,
    digits of the path; ``pointed`` (N, 2), item and position that the previous token refers
    to, any where ``refers``, float (N, 1), is 0 and not 1; ``places`` (N, G, 3), (N, 3) where G
    is 1, shelf, head and place of the cache that it writes to; ``grid`` (B, W), which hypothesis
    is in a cell, any where there is none; ``rules`` (B, W), its row of ``grammar``; ``self_grid``
    (R, U), the same for those who share a shelf of the cache, ``self_cells`` (N, 2), shelf and
    column there; ``visible`` bool (R, 1, U, P), this step's place included, and those of other
    hypotheses of this step that it goes on from; ``cross_grid`` (X, Y), ``cross_cells`` (N, 2)
    and ``asked`` bool (X, 1, Y, Q), the same for shelves of questions, where its item's is;
    ``continuations`` (1,), how many are wanted of each hypothesis, K.

    Kept between steps: ``grammar`` float32 (R, V + S), 0 for what a rule allows and -inf for
    what it forbids; ``names`` float32 (B, 1, V + S), the same for what is not in the question;
    ``mask`` (B, 1, S), to add to logits of references; ``pointer_keys`` and ``pointer_values``
    (B, S, C) of the encoder; ``cross_keys`` and ``cross_values`` (X, G, Q, D) of each layer, the
    encoder's; ``past_keys`` and ``past_values`` (R, G, P, D).

    Gives ``best``, float32 log-probabilities (B, W, K) in falling order, ``index`` (B, W, K),
    the tokens (equal ones: lowest first), then ``new_past_…``.
    """
    g = Graph(weights, config, precision, ranges)
    width, heads, head, depth = config.width, config.key_heads, config.head, config.decoder_layers
    whole, single = TensorProto.INT64, TensorProto.FLOAT
    words = g.input("words", [2 + DIGITS, "hypotheses"], whole)
    pointed = g.input("pointed", ["hypotheses", 2], whole)
    refers = g.input("refers", ["hypotheses", 1])
    each_head = [heads] if heads > 1 else []
    places = g.input("places", ["hypotheses", *each_head, 3], whole)
    grid = g.input("grid", ["batch", "beam"], whole)
    rules = g.input("rules", ["batch", "beam"], whole)
    self_grid = g.input("self_grid", ["shelves", "sharers"], whole)
    self_cells = g.input("self_cells", ["hypotheses", 2], whole)
    visible = g.input("visible", ["shelves", 1, "sharers", "places"], TensorProto.BOOL)
    cross_grid = g.input("cross_grid", ["questions", "askers"], whole)
    cross_cells = g.input("cross_cells", ["hypotheses", 2], whole)
    asked = g.input("asked", ["questions", 1, "askers", "tokens"], TensorProto.BOOL)
    continuations = g.input("continuations", [1], whole)
    grammar = g.input("grammar", ["rules", "choices"], single)
    names = g.input("names", ["batch", 1, "choices"], single)
    mask = g.input("mask", ["batch", 1, "source"])
    pointer_keys = g.input("pointer_keys", ["batch", "source", width])
    pointer_values = g.input("pointer_values", ["batch", "source", width])
    cross = [g.input(n, ["questions", heads, "tokens", head]) for n in _layered("cross", depth)]
    past = [g.input(n, ["shelves", heads, "places", head]) for n in _layered("past", depth)]

    table = np.concatenate(
        [
            weights["target_embedding.weight"],
            np.zeros((1, width), np.float32),  # for references
            weights["parent_embedding.weight"],
            path_table(weights["target_path.project.weight"]),
        ]
    )
    total = g.summed(g.constant("table", table), words, 2 + DIGITS)
    reference = g.add("Mul", g.add("GatherND", pointer_values, pointed), refers)
    total = g.add("Add", total, reference)
    hidden, unasked = g.hidden(visible), g.hidden(asked)
    for layer in range(depth):
        name = f"decoder.{layer}"
        x = g.norm(total, f"{name}.norm1")
        joined = g.linear(x, f"{name}.attention.", ("query", "key_value"))
        query, *new = g.split(joined, name)
        caches = []
        for cache, tensor in zip(past[2 * layer : 2 * layer + 2], new, strict=True):
            update = tensor
            if heads > 1:
                per_head = g.constant("heads", np.array([0, heads, head]))
                update = g.add("Reshape", tensor, per_head)
            caches.append(g.add("ScatterND", cache, places, update, output=f"new_{cache}"))
        keys, values = caches
        mixed = g.attention(g.add("Gather", query, self_grid), keys, values, hidden)
        mixed = g.add("GatherND", mixed, self_cells)
        total = g.add("Add", total, g.linear(mixed, f"{name}.attention.output"))
        query = g.linear(g.norm(total, f"{name}.norm2"), f"{name}.cross.query")
        keys, values = cross[2 * layer : 2 * layer + 2]
        mixed = g.attention(g.add("Gather", query, cross_grid), keys, values, unasked)
        mixed = g.add("GatherND", mixed, cross_cells)
        total = g.add("Add", total, g.linear(mixed, f"{name}.cross.output"))
        x = g.norm(total, f"{name}.norm3")
        total = g.add("Add", total, g.feed(x, f"{name}.feed"))
    x = g.norm(total, "decoder_norm")
    spelled = g.add("Gather", g.linear(x, "to_vocabulary", exact=True), grid)
    pointing = g.linear(x, "pointer_query", scale=width**-0.5, exact=True)
    query = g.add("Gather", pointing, grid)
    places_of = g.add("FusedMatMul", query, pointer_keys, contrib=True, transB=1)
    logits = g.add("Concat", spelled, g.add("Add", places_of, mask), axis=-1)
    if precision != "float32":
        logits = g.add("Cast", logits, to=single)
    log_probs = g.add("LogSoftmax", logits, axis=-1)
    allowed = g.add("Sum", log_probs, g.add("Gather", grammar, rules), names)
    g.add_many("TopK", allowed, continuations, outputs=["best", "index"], axis=-1)
    g.output("best", ["batch", "beam", "continuations"], single)
    g.output("index", ["batch", "beam", "continuations"], whole)
    for name in _layered("past", depth):
        g.output(f"new_{name}", ["shelves", heads, "places", head])
    return g.model()
