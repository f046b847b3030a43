"""Records what upstream's node-side .proto files put on the wire: services, fields, numbers, types.

Needs Go (for the module proxy) and the compiler that `make proto` installs. Writes upstream.json
beside the test: facts, without the words around them.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

ROOT = Path(__file__).parents[3]
TARGET = ROOT / "tests" / "conformance" / "proto" / "upstream.json"
VERSION = "v0.37.1"

# Ours, and whose counterpart it is.
KUBELET = {
    "registration_v1": "pluginregistration/v1",
    "dra_v1": "dra/v1",
    "dra_v1beta1": "dra/v1beta1",
    "health_v1": "dra-health/v1",
    "health_v1alpha1": "dra-health/v1alpha1",
    "podresources_v1": "podresources/v1",
    "deviceplugin_v1beta1": "deviceplugin/v1beta1",
}


def module_directory(module: str) -> Path:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "go.mod").write_text("module record\n")
        told = subprocess.run(
            ["go", "mod", "download", "-json", f"{module}@{VERSION}"],
            cwd=scratch,
            check=True,
            capture_output=True,
        )
    return Path(json.loads(told.stdout)["Dir"])


def compile_file(path: Path) -> descriptor_pb2.FileDescriptorProto:
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(
            [
                ROOT / ".proto" / "bin" / "python",
                "-m",
                "grpc_tools.protoc",
                f"-I{path.parent}",
                f"--descriptor_set_out={out.name}",
                path.name,
            ],
            check=True,
        )
        return descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes()).file[0]


def facts(file: descriptor_pb2.FileDescriptorProto) -> dict[str, Any]:
    """What a peer can tell: names on the wire, numbers, types."""
    found: dict[str, Any] = {"package": file.package, "methods": {}, "messages": {}, "enums": {}}
    for service in file.service:
        for method in service.method:
            path = f"/{file.package}.{service.name}/{method.name}"
            found["methods"][path] = [
                method.input_type,
                method.output_type,
                method.client_streaming,
                method.server_streaming,
            ]
    for message in file.message_type:
        _message(found, f".{file.package}.{message.name}", message)
    for enum in file.enum_type:
        found["enums"][enum.name] = {value.name: value.number for value in enum.value}
    return found


def _message(found: dict[str, Any], name: str, message: descriptor_pb2.DescriptorProto) -> None:
    found["messages"][name] = {
        field.name: [
            field.number,
            descriptor_pb2.FieldDescriptorProto.Type.Name(field.type),
            descriptor_pb2.FieldDescriptorProto.Label.Name(field.label),
            field.type_name,
            field.proto3_optional,
        ]
        for field in message.field
    }
    for nested in message.nested_type:
        _message(found, f"{name}.{nested.name}", nested)


def main() -> None:
    kubelet = module_directory("k8s.io/kubelet") / "pkg" / "apis"
    recorded = {
        ours: facts(compile_file(kubelet / theirs / "api.proto"))
        for ours, theirs in KUBELET.items()
    }
    cri = module_directory("k8s.io/cri-api") / "pkg" / "apis" / "runtime" / "v1" / "api.proto"
    recorded["cri_v1"] = facts(compile_file(cri))
    TARGET.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
