"""A kind that a user defines, over its whole life, on a real server: a process, TLS, a disk.

What a definition promises is used as clients use it: waiting for it, creating, watching, applying,
scaling; and it is still there when the server starts again. Answers in detail are pinned by the
recordings in tests/conformance/server.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.interop.dray_server import DrayServer

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = f"{DEFINITIONS}/crontabs.stable.example.com"
CRON_TABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"

SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "cronSpec": {"type": "string", "pattern": r"^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$"},
        "image": {"type": "string"},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1},
        "most": {"type": "integer"},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.most) || self.replicas <= self.most", "message": "more than the most"}
    ],
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "crontabs.stable.example.com"},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "kind": "CronTab", "shortNames": ["ct"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": SPEC,
                            "status": {
                                "type": "object",
                                "properties": {"replicas": {"type": "integer"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}


def cron_tab(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": name},
        "spec": {"cronSpec": "* * * * */5", **spec},
    }


class Client:
    """The administrator, on one connection, which is made again when it was closed."""

    def __init__(self, server: DrayServer) -> None:
        endpoint = server.endpoint
        self._connection = http.client.HTTPSConnection(
            endpoint.host, endpoint.port, context=endpoint.tls(admin=True), timeout=60
        )

    def send(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": media} if data else {})
        answer = self._connection.getresponse()
        text = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode()

    def done(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        status, answer = self.send(method, path, body, **options)
        assert status in (200, 201), answer
        return answer

    def events(self, path: str, until: str) -> Iterator[tuple[str, Any]]:
        """What a watch says, up to and with the first event of a type."""
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        assert answer.status == 200
        while line := answer.readline():
            event = json.loads(line)
            yield event["type"], event["object"]
            if event["type"] == until:
                return

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def server() -> Iterator[DrayServer]:
    running = DrayServer()
    yield running
    running.stop()


@pytest.fixture
def client(server: DrayServer) -> Iterator[Client]:
    one = Client(server)
    yield one
    one.close()


def test_a_kind_lives_as_its_definition_says(server: DrayServer, client: Client) -> None:
    client.done("POST", DEFINITIONS, DEFINITION)
    conditions = client.done("GET", NAME)["status"]["conditions"]
    assert {each["type"] for each in conditions if each["status"] == "True"} == {
        "NamesAccepted",
        "Established",
    }

    made = client.done("POST", CRON_TABS, cron_tab("a", image="i"))
    assert made["spec"]["replicas"] == 1
    status, refusal = client.send("POST", CRON_TABS, cron_tab("b", replicas=11))
    assert (status, refusal["details"]["causes"][0]["field"]) == (422, "spec.replicas")
    status, refusal = client.send("POST", CRON_TABS, cron_tab("b", replicas=3, most=2))
    assert status == 422
    assert refusal["message"].endswith("spec: Invalid value: more than the most")

    scaled = client.done(
        "PATCH",
        f"{CRON_TABS}/a/scale",
        {"spec": {"replicas": 4}},
        media="application/merge-patch+json",
    )
    assert scaled["kind"] == "Scale"
    applied = client.done(
        "PATCH",
        f"{CRON_TABS}/a?fieldManager=e2e&force=true",
        cron_tab("a", image="j"),
        media="application/apply-patch+yaml",
    )
    assert applied["spec"] | {"cronSpec": ""} == {"cronSpec": "", "image": "j", "replicas": 4}
    assert applied["metadata"]["generation"] == 3

    client.close()
    server.restart()
    assert client.done("GET", f"{CRON_TABS}/a")["spec"] == applied["spec"]

    # A watch from the beginning sees the object, and its end when the kind goes.
    revision = made["metadata"]["resourceVersion"]
    with closing(Client(server)) as watcher:
        watch = f"{CRON_TABS}?watch=true&resourceVersion={revision}"
        events = watcher.events(watch, until="DELETED")
        assert next(events)[0] == "MODIFIED"
        client.done("DELETE", NAME)
        assert [name for name, _ in events][-1] == "DELETED"


def test_a_kind_is_gone_with_its_definition(client: Client) -> None:
    body = json.loads(
        json.dumps(DEFINITION).replace("crontabs", "gones").replace("CronTab", "Gone")
    )
    path = CRON_TABS.replace("crontabs", "gones")
    client.done("POST", DEFINITIONS, body)
    revision = client.done("GET", DEFINITIONS)["metadata"]["resourceVersion"]
    client.done("DELETE", f"{DEFINITIONS}/gones.stable.example.com")
    watch = f"{DEFINITIONS}?watch=true&resourceVersion={revision}"
    assert [name for name, _ in client.events(watch, until="DELETED")][-1] == "DELETED"
    client.close()
    assert client.send("GET", path) == (404, "404 page not found\n")
