"""Our services are upstream's on the wire: packages, methods, fields, numbers and types."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from tests.oracle.proto.record import facts

UPSTREAM: dict[str, Any] = json.loads((Path(__file__).parent / "upstream.json").read_text())
SOURCE = Path(__file__).parents[3] / "src" / "dray" / "proto"

# What we add, in fields that others skip.
ADDED_FIELDS = {
    "NodePrepareResourceResponse": {"error_type": 3, "device_errors": 1000},
}
ADDED_MESSAGES = {"DeviceError"}
ADDED_ENUMS = {"NodePrepareResourceErrorType"}

# Of CRI there is only what the agent uses.
PARTIAL = {"cri_v1"}

OURS = sorted(path.stem for path in SOURCE.glob("*.proto"))


def read(name: str) -> dict[str, Any]:
    module = importlib.import_module(f"dray.proto.{name}_pb2")
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return facts(file)


@pytest.mark.parametrize("name", OURS)
def test_packages_and_methods_are_upstreams(name: str) -> None:
    ours, theirs = read(name), UPSTREAM[name]
    assert ours["package"] == theirs["package"]
    if name in PARTIAL:
        theirs["methods"] = {path: theirs["methods"][path] for path in ours["methods"]}
    assert ours["methods"] == theirs["methods"]


@pytest.mark.parametrize("name", OURS)
def test_every_field_has_upstreams_name_number_and_type(name: str) -> None:
    ours, theirs = read(name)["messages"], UPSTREAM[name]["messages"]
    for message, fields in ours.items():
        short = message.rpartition(".")[2]
        if short in ADDED_MESSAGES:
            continue
        added = ADDED_FIELDS.get(short, {})
        assert {field: fields.pop(field)[0] for field in list(fields) if field in added} == added
        expected = theirs[message]
        if name in PARTIAL:
            expected = {field: expected[field] for field in fields}
        assert fields == expected, message
    if name not in PARTIAL:
        assert theirs.keys() <= ours.keys()


@pytest.mark.parametrize("name", OURS)
def test_every_enum_has_upstreams_values(name: str) -> None:
    ours, theirs = read(name)["enums"], UPSTREAM[name]["enums"]
    assert {enum: ours[enum] for enum in ours if enum not in ADDED_ENUMS} == (
        {enum: theirs[enum] for enum in ours if enum in theirs} if name in PARTIAL else theirs
    )
