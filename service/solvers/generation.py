"""Hypotheses from a model, with every way there can be none turned into an outcome."""

from __future__ import annotations

from service.engine import DeadlineExceeded, EngineDied, Generation, InputTooLong, QueueFull
from service.noanswer import NoAnswer
from service.problems import Problem
from service.resources import Resources
from service.stopwatch import Stopwatch
from tokenizer.codec import Encoded, Unencodable, encode
from tokenizer.tree import Tree


async def generate(
    resources: Resources, watch: Stopwatch, model: str, tree: Tree, beam: int, give_up: float
) -> tuple[Encoded, Generation]:
    """``tree`` as ``model`` reads it, and what the model writes about it before ``give_up``.

    Raises :class:`NoAnswer`, and :class:`Problem` (429) when too much is waiting.
    """
    try:
        with watch.stage("parse"):
            source = encode(tree)
        generation = await resources.engine.generate(model, source, beam=beam, deadline=give_up)
    except Unencodable as error:
        raise NoAnswer("unknown_to_model", str(error)) from None
    except QueueFull:
        raise Problem.queue_full("the model") from None
    except DeadlineExceeded:
        raise NoAnswer("model_deadline", "the model did not finish in time") from None
    except EngineDied:
        raise NoAnswer("engine_died", "the process that runs the model ended") from None
    except InputTooLong:
        raise NoAnswer("too_long_for_model", "the expression is too long for the model") from None
    watch.add("queue", generation.queue_ms, ago_ms=generation.model_ms)
    watch.add("model", generation.model_ms)
    resources.metrics.queue_seconds.labels("model").observe(generation.queue_ms / 1000)
    resources.metrics.tokens.labels(model).inc(generation.tokens_decoded)
    resources.metrics.drafted.labels(model).inc(generation.tokens_drafted)
    return source, generation
