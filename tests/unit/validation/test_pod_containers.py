"""Containers of a pod."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.core import (
    ContainerPort,
    ContainerResizePolicy,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    EphemeralContainer,
)
from dray.validation.pod_containers import (
    EXIT_CODES_MAX,
    RESTART_RULES_MAX,
    check_containers,
    check_image_spaces,
)
from dray.validation.pod_leniency import STRICT, Leniency
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import container, paths, pod, resources

RESTART_ON_ONE = ContainerRestartRule(
    action="Restart", exit_codes=ContainerRestartRuleOnExitCodes(operator="In", values=(1,))
)
RESTARTING = ContainerResizePolicy(resource_name="cpu", restart_policy="RestartContainer")


def of(leniency: Leniency = STRICT, **spec: Any) -> list[str]:
    return told(check_containers, pod(**spec).spec, {}, "spec", leniency)


def of_main(**fields: Any) -> list[str]:
    return of(containers=(container(**fields),))


def test_a_pod_has_a_container() -> None:
    assert of(containers=()) == ["spec.containers: Required value"]
    assert of(containers=None) == ["spec.containers: Required value"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"name": ""}, "spec.containers[0].name: Required value"),
        ({"name": "a.b"}, 'spec.containers[0].name: Invalid value: "a.b": must not contain dots'),
        ({"image": ""}, "spec.containers[0].image: Required value"),
        (
            {"image_pull_policy": "Maybe"},
            (
                'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values:'
                ' "Always", "IfNotPresent", "Never"'
            ),
        ),
        (
            {"termination_message_policy": "Log"},
            (
                'spec.containers[0].terminationMessagePolicy: Unsupported value: "Log": supported'
                ' values: "File", "FallbackToLogsOnError"'
            ),
        ),
        (
            {"restart_policy": "Maybe"},
            (
                'spec.containers[0].restartPolicy: Unsupported value: "Maybe": supported values:'
                ' "Always", "Never", "OnFailure"'
            ),
        ),
    ],
)
def test_a_container_has_a_name_an_image_and_known_policies(
    fields: dict[str, Any], error: str
) -> None:
    assert of_main(**fields) == [error]


def test_names_are_unique_among_all_containers() -> None:
    errors = of(
        containers=(container("a"), container("a")),
        init_containers=(container("a"), container("b")),
        ephemeral_containers=(EphemeralContainer(name="b", image="i:1"),),
    )
    assert errors == [
        'spec.containers[1].name: Duplicate value: "a"',
        'spec.initContainers[0].name: Duplicate value: "a"',
        'spec.ephemeralContainers[0].name: Duplicate value: "b"',
    ]


def test_restart_rules_need_a_policy_and_exit_codes() -> None:
    assert of_main(restart_policy="Never", restart_policy_rules=(RESTART_ON_ONE,)) == []
    bare = ContainerRestartRule(action="Stop")
    assert paths(of_main(restart_policy_rules=(bare,))) == [
        "spec.containers[0].restartPolicy",
        "spec.containers[0].restartPolicyRules[0].action",
        "spec.containers[0].restartPolicyRules[0].exitCodes",
    ]


def test_rules_of_an_init_container_without_a_policy_are_not_looked_at() -> None:
    init = container("init", restart_policy_rules=(ContainerRestartRule(action="Stop"),))
    assert of(init_containers=(init,)) == [
        (
            "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when"
            " restart rules are used"
        )
    ]


def test_restart_rules_and_their_exit_codes_are_bounded() -> None:
    many = ContainerRestartRuleOnExitCodes(operator="In", values=(1,) * (EXIT_CODES_MAX + 1))
    rule = ContainerRestartRule(action="Restart", exit_codes=many)
    assert of_main(restart_policy="Never", restart_policy_rules=(rule,)) == [
        (
            "spec.containers[0].restartPolicyRules[0].exitCodes.values: Too many: 256: must have at"
            " most 255 items"
        )
    ]
    rules = (RESTART_ON_ONE,) * (RESTART_RULES_MAX + 1)
    assert of_main(restart_policy="Never", restart_policy_rules=rules) == [
        "spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items"
    ]


@pytest.mark.parametrize("probe", ["lifecycle", "liveness_probe", "startup_probe"])
def test_only_sidecars_among_init_containers_are_probed(probe: str) -> None:
    given = Raw(b"{}") if probe == "lifecycle" else Raw(b'{"exec": {"command": ["true"]}}')
    init = container("init", **{probe: given})
    (error,) = of(init_containers=(init,))
    assert error.endswith("may not be set for init containers without restartPolicy=Always")
    sidecar = container("init", restart_policy="Always", **{probe: given})
    assert of(init_containers=(sidecar,)) == []


def test_a_resize_restarts_no_init_container_unless_one_was_stored_so() -> None:
    init = (container("init", resize_policy=(RESTARTING,)),)
    assert paths(of(init_containers=init)) == [
        "spec.initContainers[0].resizePolicy[0].restartPolicy"
    ]
    assert of(Leniency(restarting_resize_of_init_containers=True), init_containers=init) == []


def test_a_pod_that_never_restarts_is_not_restarted_by_a_resize() -> None:
    errors = of(restart_policy="Never", containers=(container(resize_policy=(RESTARTING,)),))
    assert errors == [
        (
            'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be'
            " 'NotRequired' when pod `restartPolicy` is 'Never'"
        )
    ]


def test_resize_policies_are_one_for_each_resource() -> None:
    policies = (RESTARTING, RESTARTING, ContainerResizePolicy())
    assert of_main(resize_policy=policies) == [
        'spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"',
        "spec.containers[0].resizePolicy: Required value",
        "spec.containers[0].resizePolicy: Required value",
    ]


@pytest.mark.parametrize(
    ("field", "value", "wire_name"),
    [
        ("ports", (ContainerPort(container_port=80),), "ports"),
        ("resources", resources({"cpu": "1"}), "resources"),
        ("restart_policy", "Always", "restartPolicy"),
        ("readiness_probe", Raw(b"{}"), "readinessProbe"),
    ],
)
def test_debuggers_have_no_resources_of_their_own(field: str, value: Any, wire_name: str) -> None:
    fields: dict[str, Any] = {"name": "debug", "image": "sh:1", field: value}
    assert of(ephemeral_containers=(EphemeralContainer(**fields),)) == [
        (
            f"spec.ephemeralContainers[0].{wire_name}: Forbidden: cannot be set for an Ephemeral"
            " Container"
        )
    ]


def test_a_debugger_looks_at_a_container_that_exists() -> None:
    debug = EphemeralContainer(name="debug", image="sh:1", target_container_name="nobody")
    assert of(ephemeral_containers=(debug,)) == [
        'spec.ephemeralContainers[0].targetContainerName: Not found: "nobody"'
    ]


@pytest.mark.parametrize("image", [" app", "app\n", "\u00a0app", "app\u2003"])
def test_images_have_no_space_around_them(image: str) -> None:
    (error,) = told(check_image_spaces, (container(image=image),), "c")
    assert error.endswith("must not have leading or trailing whitespace")


def test_what_only_python_calls_space_is_none() -> None:
    assert told(check_image_spaces, (container(image="app\x1f"),), "c") == []
