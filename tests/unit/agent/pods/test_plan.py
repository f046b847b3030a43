"""What a pod needs next: examples from upstream's table, and what must hold for any pod."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.agent.pods.plan import Facts, KillReason, Kind, Plan, plan
from dray.agent.pods.pod_state import NOTHING, PodState
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState, PodIdentity, Sandbox
from dray.api.carried import write_part
from dray.api.core import (
    Container,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    EphemeralContainer,
    Pod,
    PodSpec,
)
from dray.api.core.parts import ExecAction, Probe
from dray.api.meta import ObjectMeta
from dray.api.wire import Time

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = PodIdentity("default", "web", "uid")
READY = Sandbox("box-0", ID, 0, ready=True, created_at=NOW, addresses=("10.0.0.1",))
LOST = Sandbox("box-0", ID, 0, ready=False, created_at=NOW)
PROBE = write_part(Probe(exec=ExecAction(command=("true",))))


def run(
    name: str,
    state: ContainerState = ContainerState.RUNNING,
    code: int = 0,
    *,
    attempt: int = 0,
    box: str = "box-0",
) -> RunContainer:
    return RunContainer(
        id=f"memory://{name}-{attempt}",
        sandbox_id=box,
        pod=ID,
        name=name,
        attempt=attempt,
        state=state,
        image="image",
        exit_code=code,
    )


def exited(name: str, code: int = 0, **fields: Any) -> RunContainer:
    return run(name, ContainerState.EXITED, code, **fields)


def make(
    *,
    init: tuple[Container, ...] = (),
    main: tuple[Container, ...] = (Container(name="main", image="image"),),
    policy: str = "Always",
    deleted: bool = False,
    **spec: Any,
) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name="web", uid="uid", deletion_timestamp=Time(NOW) if deleted else None
        ),
        spec=PodSpec(init_containers=init, containers=main, restart_policy=policy, **spec),
    )


def state(*containers: RunContainer, box: Sandbox = READY) -> PodState:
    return PodState.of((box,), containers)


def started(pod: Pod, now: PodState, facts: Facts = Facts()) -> list[tuple[str, int]]:  # noqa: B008 - frozen
    return [(start.container.name, start.attempt) for start in plan(pod, now, facts).start]


SIDECAR = Container(name="proxy", image="image", restart_policy="Always")
SETUP = Container(name="setup", image="image")
MAIN = Container(name="main", image="image")


def test_a_new_pod_needs_a_sandbox_first() -> None:
    assert plan(make(), NOTHING).sandbox_attempt == 0
    assert plan(make(), NOTHING).start == ()


def test_a_pod_being_deleted_has_ended() -> None:
    assert plan(make(deleted=True), state(run("main"))).finish


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(state(), [("one", 0)], id="the-first"),
        pytest.param(state(run("one")), [], id="waits-for-it"),
        pytest.param(state(exited("one")), [("two", 0)], id="then-the-second"),
        pytest.param(state(exited("one", 1)), [("one", 1)], id="a-failed-one-again"),
        pytest.param(state(run("one", ContainerState.CREATED)), [("one", 1)], id="never-started"),
        pytest.param(state(exited("one"), exited("two")), [("main", 0)], id="then-the-rest"),
        pytest.param(state(exited("two")), [("main", 0)], id="the-first-was-removed"),
        pytest.param(state(run("main")), [], id="both-were-removed"),
    ],
)
def test_init_containers_run_in_order(now: PodState, expected: list[tuple[str, int]]) -> None:
    one, two = (Container(name=name, image="image") for name in ("one", "two"))
    assert started(make(init=(one, two)), now) == expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(state(), [("proxy", 0)], id="the-sidecar-first"),
        pytest.param(state(run("proxy")), [("setup", 0)], id="the-next-while-it-runs"),
        pytest.param(state(exited("proxy")), [("proxy", 1)], id="down-before-the-next"),
        pytest.param(
            state(exited("proxy"), run("setup")), [("proxy", 1)], id="down-during-the-next"
        ),
        pytest.param(state(run("proxy"), exited("setup")), [("main", 0)], id="then-the-rest"),
        pytest.param(
            state(exited("proxy", 1), exited("setup"), run("main")), [("proxy", 1)], id="later"
        ),
        pytest.param(state(run("main")), [("proxy", 0)], id="removed"),
    ],
)
def test_sidecars_are_kept_up(now: PodState, expected: list[tuple[str, int]]) -> None:
    assert started(make(init=(SIDECAR, SETUP)), now) == expected


def test_what_follows_a_sidecar_waits_for_its_startup_probe() -> None:
    sidecar = Container(name="proxy", image="image", restart_policy="Always", startup_probe=PROBE)
    pod, now = make(init=(sidecar,)), state(run("proxy"))
    assert started(pod, now) == []
    assert started(pod, now, Facts(started=frozenset({"memory://proxy-0"}))) == [("main", 0)]
    failed = plan(pod, now, Facts(failed_startup=frozenset({"memory://proxy-0"})))
    assert [kill.message for kill in failed.kill] == ["Init container proxy failed startup probe"]
    assert [start.attempt for start in failed.start] == [1]


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, [("main", 1)]),
        ("Always", 1, [("main", 1)]),
        ("OnFailure", 0, []),
        ("OnFailure", 1, [("main", 1)]),
        ("Never", 0, []),
        ("Never", 1, []),
    ],
)
def test_the_restart_policy_decides_what_runs_again(
    policy: str, code: int, expected: list[tuple[str, int]]
) -> None:
    pod, now = make(policy=policy), state(exited("main", code))
    assert started(pod, now) == expected
    assert plan(pod, now).finish is not bool(expected)


def test_a_pod_whose_main_containers_are_done_does_not_wait_for_its_sidecars() -> None:
    pod = make(init=(SIDECAR,), policy="Never")
    assert plan(pod, state(run("proxy"), exited("main"))).finish
    assert plan(pod, state(exited("proxy"), exited("main"))).finish


def test_an_init_container_that_fails_ends_a_pod_that_never_restarts() -> None:
    assert plan(make(init=(SETUP,), policy="Never"), state(exited("setup", 1))).finish


def test_a_failed_probe_kills_and_restarts_unless_the_pod_never_does() -> None:
    facts = Facts(failed_liveness=frozenset({"memory://main-0"}))
    again = plan(make(), state(run("main")), facts)
    assert again.kill[0].reason is KillReason.LIVENESS_PROBE
    assert again.kill[0].message == "Container main failed liveness probe, will be restarted"
    assert [start.attempt for start in again.start] == [1]
    never = plan(make(policy="Never"), state(run("main")), facts)
    assert never.kill[0].message == "Container main failed liveness probe"
    assert (never.start, never.finish) == ((), False)


def test_what_was_killed_to_be_restarted_is_restarted_whatever_it_exited_with() -> None:
    facts = Facts(to_restart=frozenset({"memory://main-0"}))
    assert started(make(policy="OnFailure"), state(exited("main", 0)), facts) == [("main", 1)]


def test_another_image_replaces_the_container() -> None:
    facts = Facts(images={"memory://main-0": "older"})
    changed = plan(make(), state(run("main")), facts)
    assert changed.kill[0].message == "Container main definition changed, will be restarted"
    assert started(make(), state(run("main")), Facts(images={"memory://main-0": "image"})) == []


def test_a_lost_sandbox_is_made_again_unless_the_pod_is_done() -> None:
    assert plan(make(), state(exited("main", 137), box=LOST)).sandbox_attempt == 1
    assert plan(make(policy="Never"), state(exited("main", 137), box=LOST)).finish
    assert plan(make(policy="OnFailure"), state(exited("main", 0), box=LOST)).finish
    assert plan(make(policy="Never"), state(box=LOST)).sandbox_attempt == 1


@pytest.mark.parametrize(
    ("policy", "codes", "ends"),
    [
        ("Never", {"main": 137}, True),
        ("Never", {"setup": 0}, True),
        ("OnFailure", {"main": 137}, False),
        ("OnFailure", {"main": 0}, True),
        ("OnFailure", {"setup": 0}, False),
        ("Always", {"main": 0}, False),
    ],
)
def test_what_the_runtime_forgot_counts_as_it_ended(
    policy: str, codes: dict[str, int], ends: bool
) -> None:
    pod = make(init=(SETUP,), policy=policy)
    expected = Plan(finish=True) if ends else Plan(sandbox_attempt=0)
    assert plan(pod, NOTHING, Facts(forgotten=codes)) == expected


def test_of_several_forgotten_containers_those_that_failed_run_again() -> None:
    main = tuple(Container(name=name, image="image") for name in ("one", "two"))
    pod = make(main=main, policy="OnFailure")
    facts = Facts(forgotten={"one": 0, "two": 137})
    assert plan(pod, NOTHING, facts) == Plan(sandbox_attempt=0)
    assert started(pod, state(), facts) == [("two", 0)]


def test_after_a_lost_sandbox_init_containers_run_again() -> None:
    box = Sandbox("box-1", ID, 1, ready=True, created_at=NOW)
    now = PodState.of((LOST, box), (exited("setup"), exited("main", 137)))
    assert started(make(init=(SETUP,)), now) == [("setup", 1)]


def test_ephemeral_containers_start_once() -> None:
    debugger = EphemeralContainer(name="debug", image="image")
    pod = make(ephemeral_containers=(debugger,))
    assert started(pod, state(run("main"))) == [("debug", 0)]
    assert started(pod, state(run("main"), exited("debug", 1))) == []


def test_an_exit_that_restarts_all_removes_all_and_itself_last() -> None:
    codes = ContainerRestartRuleOnExitCodes(operator="In", values=(88,))
    rule = ContainerRestartRule(action="RestartAllContainers", exit_codes=codes)
    main = Container(
        name="main", image="image", restart_policy="Never", restart_policy_rules=(rule,)
    )
    other = Container(name="other", image="image")
    pod = make(init=(SETUP,), main=(main, other), policy="Never")
    now = state(exited("setup"), exited("main", 88), run("other"))
    assert [one.name for one in plan(pod, now).reset] == ["other", "setup", "main"]
    # An agent that restarts in the middle finds the condition, and goes on.
    left = plan(pod, state(run("other")), Facts(restarting_all=True))
    assert [one.name for one in left.reset] == ["other"]
    assert started(pod, state(), Facts(attempts={"setup": 0, "main": 0})) == [("setup", 1)]


# What holds for any pod --------------------------------------------------------------------------

NAMES = ("one", "two", "three")
policies = st.sampled_from(["Always", "OnFailure", "Never"])


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    init = []
    for name in NAMES[: draw(st.integers(0, 3))]:
        sidecar = draw(st.booleans())
        probe = PROBE if sidecar and draw(st.booleans()) else None
        init.append(
            Container(
                name=name,
                image="image",
                restart_policy="Always" if sidecar else None,
                startup_probe=probe,
            )
        )
    main = [
        Container(name=name, image="image", restart_policy=draw(st.none() | policies))
        for name in ("a", "b")[: draw(st.integers(1, 2))]
    ]
    return make(
        init=tuple(init), main=tuple(main), policy=draw(policies), deleted=draw(st.booleans())
    )


@st.composite
def states(draw: st.DrawFn) -> PodState:
    boxes = [
        Sandbox(f"box-{n}", ID, n, ready=draw(st.booleans()), created_at=NOW)
        for n in range(draw(st.integers(0, 2)))
    ]
    containers = []
    for name in (*NAMES, "a", "b"):
        for attempt in range(draw(st.integers(0, 2)) if boxes else 0):
            containers.append(
                run(
                    name,
                    draw(st.sampled_from(ContainerState)),
                    draw(st.sampled_from([0, 1])),
                    attempt=attempt,
                    box=draw(st.sampled_from(boxes)).id,
                )
            )
    return PodState.of(boxes, containers)


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    ids = st.frozensets(
        st.sampled_from([f"memory://{name}-{n}" for name in (*NAMES, "a", "b") for n in (0, 1)])
    )
    return Facts(
        started=draw(ids),
        failed_startup=draw(ids),
        failed_liveness=draw(ids),
        to_restart=draw(ids),
        restarting_all=draw(st.booleans()),
        forgotten=draw(st.dictionaries(st.sampled_from([*NAMES, "a", "b"]), st.integers(0, 2))),
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(pods(), states(), facts())
def test_no_container_is_started_while_one_of_its_name_runs(
    pod: Pod, now: PodState, known: Facts
) -> None:
    found = plan(pod, now, known)
    killed = {kill.container.id for kill in found.kill}
    names = [start.container.name for start in found.start]
    assert len(set(names)) == len(names)
    for name in names:
        latest = now.latest(name)
        active = now.active(name)
        for one in (latest, active):
            assert (
                one is None
                or one.state not in (ContainerState.RUNNING, ContainerState.UNKNOWN)
                or (one.id in killed or one.sandbox_id != now.sandboxes[0].id)
            )


@pytest.mark.slow
@settings(max_examples=60)
@given(pods(), states(), facts())
def test_nothing_starts_without_a_sandbox_and_attempts_only_grow(
    pod: Pod, now: PodState, known: Facts
) -> None:
    found = plan(pod, now, known)
    if found.start:
        assert now.sandbox is not None
    for start in found.start:
        assert all(start.attempt > one.attempt for one in now.history(start.container.name))


@pytest.mark.slow
@settings(max_examples=60)
@given(pods(), states(), facts())
def test_main_containers_start_only_after_all_init_containers(
    pod: Pod, now: PodState, known: Facts
) -> None:
    found = plan(pod, now, known)
    if not any(start.kind is Kind.MAIN for start in found.start):
        return
    if any(now.active(one.name) for one in pod.spec.containers or ()):
        return
    for container in pod.spec.init_containers[-1:]:
        last = now.active(container.name)
        assert last is not None
        if container.restart_policy == "Always":
            assert last.state is ContainerState.RUNNING
        else:
            assert (last.state, last.exit_code) == (ContainerState.EXITED, 0)


@pytest.mark.slow
@settings(max_examples=60)
@given(pods(), states(), facts())
def test_init_containers_start_only_after_those_before_them(
    pod: Pod, now: PodState, known: Facts
) -> None:
    init = [one.name for one in pod.spec.init_containers]
    for start in plan(pod, now, known).start:
        if start.kind is not Kind.INIT:
            continue
        index = init.index(start.container.name)
        reached = max((n for n, name in enumerate(init) if now.active(name)), default=-1)
        main = any(now.active(one.name) for one in pod.spec.containers or ())
        assert main or index <= reached + 1


@pytest.mark.slow
@settings(max_examples=60)
@given(pods(), states(), facts())
def test_a_pod_that_has_ended_starts_nothing(pod: Pod, now: PodState, known: Facts) -> None:
    found = plan(pod, now, known)
    if found.finish:
        assert (found.start, found.kill, found.reset, found.sandbox_attempt) == ((), (), (), None)
    if pod.metadata.deletion_timestamp is not None:
        assert found.finish


@pytest.mark.slow
@settings(max_examples=60)
@given(pods(), states(), facts())
def test_planning_again_gives_the_same_plan(pod: Pod, now: PodState, known: Facts) -> None:
    assert plan(pod, now, known) == plan(pod, now, known)


# A pod's whole life -------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60)
@given(
    pods(), st.lists(st.sampled_from([0, 0, 0, 1]), max_size=40), st.randoms(use_true_random=False)
)
def test_following_plans_no_name_runs_twice_and_main_waits_for_init(
    pod: Pod, codes: list[int], chance: Any
) -> None:
    """Against a small model of a runtime in which containers end at any time, in any way."""
    pod = make(
        init=pod.spec.init_containers,
        main=pod.spec.containers or (),
        policy=pod.spec.restart_policy,
    )
    containers: list[RunContainer] = []
    boxes: tuple[Sandbox, ...] = ()
    init = [one for one in pod.spec.init_containers if one.restart_policy != "Always"]
    for code in (*codes, *[0] * 20):
        known = Facts(started=frozenset(one.id for one in containers))
        steps = plan(pod, PodState.of(boxes, containers), known)
        if steps.finish:
            break
        if steps.sandbox_attempt is not None:
            boxes = (READY,)
        for start in steps.start:
            name = start.container.name
            running = [one for one in containers if one.state is ContainerState.RUNNING]
            assert name not in {one.name for one in running}
            if start.kind is Kind.MAIN:
                done = {one.name for one in containers if one.exit_code == 0 and one not in running}
                assert {one.name for one in init} <= done
            containers.append(run(name, attempt=start.attempt))
        assert len({one.id for one in containers}) == len(containers)
        running = [one for one in containers if one.state is ContainerState.RUNNING]
        if running:
            ends = chance.choice(running)
            index = containers.index(ends)
            containers[index] = exited(ends.name, code, attempt=ends.attempt)
