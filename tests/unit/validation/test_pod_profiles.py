"""Annotations for profiles, and the fields that replaced them."""

from __future__ import annotations

from typing import Any

import pytest

from dray.validation.pod_profiles import (
    APP_ARMOR_PREFIX,
    SECCOMP_CONTAINER_PREFIX,
    SECCOMP_POD_KEY,
    check_profile_annotations,
    check_profiles_agree,
)
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import container, raw
from tests.unit.validation.pod_builders import paths, pod


@pytest.mark.parametrize(
    ("key", "profile", "count"),
    [
        (SECCOMP_POD_KEY, "runtime/default", 0),
        (SECCOMP_POD_KEY, "localhost/a", 0),
        (SECCOMP_POD_KEY, "localhost//a", 1),
        (f"{SECCOMP_CONTAINER_PREFIX}main", "odd", 1),
        (f"{APP_ARMOR_PREFIX}main", "", 0),
        (f"{APP_ARMOR_PREFIX}other", "odd", 2),
    ],
)
def test_annotations_name_profiles_of_containers(key: str, profile: str, count: int) -> None:
    errors = told(check_profile_annotations, {key: profile}, pod().spec, "a")
    assert len(errors) == count


def agree(key: str, annotation: str, profile: Any, **spec: Any) -> list[str]:
    context = {"seccompProfile": profile, "appArmorProfile": profile}
    main = container(security_context=context)
    found = pod(containers=(main,), security_context=raw(context), **spec).spec
    return told(check_profiles_agree, {key: annotation}, found, "spec")


RUNTIME = {"type": "RuntimeDefault"}
LOCAL = {"type": "Localhost", "localhostProfile": "a"}


@pytest.mark.parametrize(
    ("annotation", "profile", "field"),
    [
        ("runtime/default", RUNTIME, ""),
        ("unconfined", RUNTIME, "type"),
        ("unconfined", {"type": "Unconfined"}, ""),
        ("localhost/a", LOCAL, ""),
        ("localhost/b", LOCAL, "localhostProfile"),
        ("runtime/default", LOCAL, "type"),
    ],
)
@pytest.mark.parametrize(
    ("key", "at"),
    [
        (SECCOMP_POD_KEY, "spec.securityContext.seccompProfile"),
        (f"{SECCOMP_CONTAINER_PREFIX}main", "spec.containers[0].securityContext.seccompProfile"),
        (f"{APP_ARMOR_PREFIX}main", "spec.containers[0].securityContext.appArmorProfile"),
    ],
)
def test_an_annotation_does_not_contradict_its_field(
    annotation: str, profile: Any, field: str, key: str, at: str
) -> None:
    assert paths(agree(key, annotation, profile)) == ([f"{at}.{field}"] if field else [])


def test_the_profile_of_the_pod_is_that_of_its_containers() -> None:
    spec = pod(security_context=raw({"appArmorProfile": RUNTIME})).spec
    annotations = {f"{APP_ARMOR_PREFIX}main": "unconfined"}
    assert len(told(check_profiles_agree, annotations, spec, "spec")) == 1
    assert told(check_profiles_agree, {}, spec, "spec") == []
