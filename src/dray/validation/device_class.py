"""DeviceClass: which devices a class offers, and how they are set up.

Upstream counterpart: ValidateDeviceClass in pkg/apis/resource/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api import names
from dray.api.equality import semantically_equal
from dray.api.pod_resources import is_extended_resource
from dray.api.resource import DeviceClass, DeviceClassSpec
from dray.errors import FieldErrorType
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.opaque import check_device_configuration, declare_device_configuration
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import (
    LONG_NAME,
    check_size,
    declare_dns_subdomain,
)
from dray.validation.selectors import SELECTORS_MAX, check_selectors

__all__ = ["CONFIG_MAX", "RULEBOOK"]

CONFIG_MAX: Final = 32

_EXTENDED_RESOURCE_NAME: Final = "format=k8s-extended-resource-name"


def _create(new: DeviceClass, context: Context) -> Verdict:
    handwritten, declared = Findings(), Findings(shared=True)
    _check_metadata(handwritten, new)
    _check_spec(handwritten, new.spec, None, context)
    _declare(declared, new, None, context.version)
    return Verdict(handwritten, declared)


def _update(new: DeviceClass, old: DeviceClass, context: Context) -> Verdict:
    handwritten, declared = Findings(), Findings(shared=True)
    _check_metadata(handwritten, new)
    handwritten.extend(validate_object_meta_update(new.metadata, old.metadata))
    _check_spec(handwritten, new.spec, old.spec, context)
    _declare(declared, new, old, context.version)
    return Verdict(handwritten, declared)


RULEBOOK: Final = Rulebook(namespaced=False, create=_create, update=_update)


def _check_metadata(found: Findings, new: DeviceClass) -> None:
    errors = validate_object_meta(
        new.metadata,
        namespaced=False,
        name_rule=lambda name, _prefix: names.long_name(name),
        generate_name_rule=False,
    )
    for error in errors:
        # The format of the name is the one part of metadata that this kind declares as well.
        if error.field == "metadata.name" and error.type is FieldErrorType.INVALID:
            found.add(error, origin=LONG_NAME, shared=True)
        else:
            found.add(error)


def _check_spec(
    found: Findings, spec: DeviceClassSpec, old: DeviceClassSpec | None, context: Context
) -> None:
    check_selectors(
        found,
        spec.selectors,
        "spec.selectors",
        stored=old is not None and semantically_equal(spec.selectors, old.selectors),
        gates=context.gates,
    )
    if check_size(found, spec.config, CONFIG_MAX, "spec.config", shared=True):
        stored = old is not None and semantically_equal(spec.config, old.config)
        for index, config in enumerate(spec.config):
            path = f"spec.config[{index}]"
            check_device_configuration(found, config.opaque, path, stored=stored)
    name = spec.extended_resource_name
    if name is not None and not is_extended_resource(name):
        found.invalid(
            "spec.extendedResourceName",
            name,
            "must be a valid extended resource name",
            origin=_EXTENDED_RESOURCE_NAME,
            shared=True,
        )


def _declare(
    found: Findings, new: DeviceClass, old: DeviceClass | None, version: str | None
) -> None:
    """What the stored class has already is not looked at again."""
    name = new.metadata.name
    if name and (old is None or old.metadata.name != name):
        declare_dns_subdomain(found, name, "metadata.name")
    spec = new.spec
    stored = None if old is None else old.spec
    if stored is None or not semantically_equal(spec.selectors, stored.selectors):
        check_size(found, spec.selectors, SELECTORS_MAX, "spec.selectors")
    if (stored is None or not semantically_equal(spec.config, stored.config)) and check_size(
        found, spec.config, CONFIG_MAX, "spec.config"
    ):
        for index, config in enumerate(spec.config):
            path = f"spec.config[{index}]"
            declare_device_configuration(found, config.opaque, path, version=version)
    extended = spec.extended_resource_name
    if extended is not None and (stored is None or stored.extended_resource_name != extended):
        _declare_extended_resource_name(found, extended, "spec.extendedResourceName")


def _declare_extended_resource_name(found: Findings, value: str, path: str) -> None:
    messages = []
    if "/" not in value:
        messages.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in value:
        messages.append('must not have "kubernetes.io/" domain')
    if value.startswith("requests."):
        messages.append('must not have "requests." prefix')
    messages.extend(names.label_key(f"requests.{value}"))
    for message in messages:
        found.invalid(path, value, message, origin=_EXTENDED_RESOURCE_NAME)
