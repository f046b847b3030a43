"""Daemon sets whose templates are to be kept: with all parts of pods, and at random."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate import pod_parts
from tests.conformance.generate.case import Request
from tests.conformance.generate.pod_specs import Draw
from tests.conformance.generate.workloads import SPECS, workload

DRAWN = 80
METADATA = {"name": "agent", "namespace": "default"}
SELECTOR = {"matchLabels": {"app": "agent"}}
# What Go escapes, and what it does not.
TEXTS = ("a<b>&c", "\u2028\u2029", "Grüße ✓ 🙂", '"\\\n\t\x00\x7f', "\b\f\r\x1f")


def revisions(random: Random) -> Iterator[Request]:
    for number in range(DRAWN):
        made = workload("DaemonSet", METADATA, SPECS["DaemonSet"](Draw(random, 0.0)))
        yield {"op": "revision", "name": f"drawn {number}", "object": made}
    for request in pod_parts.decodes(random):
        if ": odd in " in request["name"]:
            continue  # fields that nobody knows: a server drops them before anything is kept
        yield _of_template(f"parts of {request['name']}", {"spec": request["object"]["spec"]})
    for number, text in enumerate(TEXTS):
        container = {"name": "main", "image": "i", "args": [text]}
        metadata = {"labels": {"app": "agent"}, "annotations": {"note": text, text: "a"}}
        template = {"metadata": metadata, "spec": {"containers": [container]}}
        yield _of_template(f"text {number}", template)


def _of_template(name: str, template: Request) -> Request:
    made = workload("DaemonSet", METADATA, {"selector": SELECTOR, "template": template})
    return {"op": "revision", "name": name, "object": made}
