from __future__ import annotations

import pytest

from dray.errors import BadRequest, NotFound
from dray.http.messages import Answer, Upgrade
from dray.server.subresources.sessions import session_verb
from dray.server.user import User
from tests.unit.server.harness import PODS, Api, served
from tests.unit.server.kubelets import FakeSocket
from tests.unit.server.subresources.nodes import FakeNodes, placed_pod

WEBSOCKET = {"upgrade": "websocket", "sec-websocket-protocol": "v5.channel.k8s.io"}
SPDY = {"upgrade": "SPDY/3.1"}


async def session(
    api: Api,
    nodes: FakeNodes,
    query: str,
    kind: str = "exec",
    headers: dict[str, str] | None = None,
    method: str = "GET",
) -> Answer:
    call = api.call(
        method, f"{PODS}/p/{kind.lower()}{query}", headers=WEBSOCKET if headers is None else headers
    )
    return await session_verb(kind, nodes)(call)


@pytest.mark.parametrize("method", ["GET", "POST"])
@served()
async def test_a_client_is_joined_to_the_node(api: Api, method: str) -> None:
    await placed_pod(api)
    nodes = FakeNodes()
    query = "?command=ls&command=-l&stdin=true&stdout=1&stderr=false&tty=true"
    answer = await session(api, nodes, query, method=method)
    assert isinstance(answer, Upgrade)
    assert answer.protocol == "v5.channel.k8s.io"
    wanted = "command=ls&command=-l&input=1&output=1&tty=1"
    assert nodes.asked == [("n", f"/exec/default/p/a?{wanted}")]
    client = FakeSocket()
    await answer.serve(client)
    assert nodes.joined == [client]


@served()
async def test_a_session_may_be_attached(api: Api) -> None:
    await placed_pod(api, "a", "b")
    nodes = FakeNodes()
    await session(api, nodes, "?container=b&stdout=true", "attach")
    assert nodes.asked == [("n", "/attach/default/p/b?output=1")]


@served()
async def test_ports_are_forwarded_for_the_whole_pod(api: Api) -> None:
    await placed_pod(api, "a", "b")
    nodes = FakeNodes()
    await session(api, nodes, "?ports=80&ports=443", "portForward")
    assert nodes.asked == [("n", "/portForward/default/p?port=80&port=443")]


@served()
async def test_a_token_among_the_protocols_stays_here(api: Api) -> None:
    await placed_pod(api)
    nodes = FakeNodes()
    offered = "base64url.bearer.authorization.k8s.io.c2VjcmV0, v4.channel.k8s.io"
    headers = {"upgrade": "WebSocket", "sec-websocket-protocol": offered}
    await session(api, nodes, "?command=ls&stdout=1", headers=headers)
    assert nodes.protocols == ["v4.channel.k8s.io"]


@pytest.mark.parametrize(
    ("query", "kind", "told"),
    [
        pytest.param("?stdout=1", "exec", "at least 1 command", id="no-command"),
        pytest.param("?command=ls", "exec", "at least 1 of stdin, stdout, stderr", id="no-stream"),
        pytest.param("?tty=1", "attach", "at least 1 of stdin, stdout, stderr", id="only-a-tty"),
        pytest.param("?container=z&stdout=1", "attach", "is not valid for pod", id="container"),
    ],
)
@served()
async def test_a_session_that_makes_no_sense_is_refused(
    api: Api, query: str, kind: str, told: str
) -> None:
    await placed_pod(api)
    with pytest.raises(BadRequest, match=told):
        await session(api, FakeNodes(), query, kind)


@pytest.mark.parametrize("headers", [{}, SPDY], ids=["none", "spdy"])
@served()
async def test_a_session_is_a_websocket(api: Api, headers: dict[str, str]) -> None:
    await placed_pod(api)
    nodes = FakeNodes()
    with pytest.raises(BadRequest, match="Upgrade request required"):
        await session(api, nodes, "?command=ls&stdout=1", headers=headers)
    assert nodes.joined == []
    assert nodes.pieces.closed is bool(headers), "a node that has nothing against it is left alone"


@served()
async def test_why_a_node_refuses_a_session_is_told_to_who_tries_the_older_way(api: Api) -> None:
    await placed_pod(api)
    nodes = FakeNodes(refusal=NotFound('container not found ("a")'))
    with pytest.raises(NotFound, match="container not found"):
        await session(api, nodes, "?command=ls&stdout=1", headers=SPDY)


@pytest.mark.parametrize("headers", [WEBSOCKET, SPDY], ids=["ws", "spdy"])
@pytest.mark.parametrize("kind", ["exec", "attach", "portForward"])
@served()
async def test_a_simulated_node_is_named_whatever_a_client_tries(
    api: Api, kind: str, headers: dict[str, str]
) -> None:
    """kubectl tries SPDY when a websocket is refused, and tells what it heard last."""
    await placed_pod(api, runtime="memory://1")
    with pytest.raises(BadRequest, match="node n is simulated"):
        await session(api, FakeNodes(), "?command=ls&stdout=1&ports=80", kind, headers)


@served()
async def test_a_pod_that_is_nowhere_has_no_sessions(api: Api) -> None:
    await placed_pod(api, node="")
    with pytest.raises(BadRequest, match="pod p does not have a host assigned"):
        await session(api, FakeNodes(), "?command=ls&stdout=1")


@served()
async def test_there_must_be_such_a_pod(api: Api) -> None:
    with pytest.raises(NotFound):
        await session(api, FakeNodes(), "?command=ls&stdout=1")


@pytest.mark.parametrize(
    ("resource", "verb", "allowed"),
    [
        pytest.param("pods", "get", False, id="pods"),
        pytest.param("pods/exec", "get", False, id="reading"),
        pytest.param("pods/exec", "*", True, id="creating"),
    ],
)
@served()
async def test_who_may_only_read_runs_nothing(
    api: Api, resource: str, verb: str, *, allowed: bool
) -> None:
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": [verb]}]
    base = "/apis/rbac.authorization.k8s.io/v1"
    await api.made(f"{base}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": "bob"}],
    }
    await api.made(f"{base}/clusterrolebindings", binding)
    path = f"{PODS}/p/exec?command=ls&stdout=1"
    reply = await api.request("GET", path, user=User("bob"), headers=WEBSOCKET)
    assert reply.status == (404 if allowed else 403)
