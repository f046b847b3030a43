"""Reads configurations of the host driver, and finds all that is wrong with one at once."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from dray.drivers.host.config import (
    CapacityValue,
    Check,
    Container,
    DerivedValue,
    Group,
    HostConfig,
)
from dray.drivers.host.patterns import Glob, PatternError, Template
from dray.drivers.yaml_errors import describe_yaml_error
from dray.sdk import ConfigurationError

__all__ = ["FILE_BYTES_MAX", "load_config", "read_config"]

FILE_BYTES_MAX: Final = 4 * 1024 * 1024

# More groups would be several drivers, and each costs a look at the file system.
GROUPS_MAX: Final = 256

# An hour without a look at a device is no monitoring; ten looks a second do nothing else.
_EVERY_SECONDS: Final = (0.1, 3600.0)
# A command that needs longer cannot tell the present.
_TIMEOUT_SECONDS: Final = (0.1, 300.0)

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PERMISSIONS: Final = re.compile(r"(?!.*(.).*\1)[rwm]{1,3}")
_HOOK_NAMES: Final = (
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
)


def read_config(text: str, *, source: str = "configuration") -> HostConfig:
    """A configuration from YAML. Raises ConfigurationError with every place and rule."""
    try:
        plain: Any = yaml.load(text, _Loader)  # noqa: S506 - the safe loader, with one more rule
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}: {describe_yaml_error(error)}") from error
    try:
        config = msgspec.convert(plain, HostConfig)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{source}: {error}") from error
    problems = [f"{path}: {rule}" for path, rule in _problems(config)]
    if problems:
        raise ConfigurationError(f"{source}: {'; '.join(problems)}")
    return config


def load_config(path: Path) -> HostConfig:
    """A configuration from a file. Raises ConfigurationError."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error
    if len(text) > FILE_BYTES_MAX:
        raise ConfigurationError(f"{path}: larger than {FILE_BYTES_MAX} bytes")
    return read_config(text, source=str(path))


class _Loader(yaml.SafeLoader):
    """Refuses a member that is there twice: one of the two would be lost in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value!r} is there twice", key.start_mark
                )
            seen.add(getattr(key, "value", None) if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep=deep)


# What is wrong: pairs of a place and a rule -----------------------------------------------------

_Problems = Iterator[tuple[str, str]]


def _problems(config: HostConfig) -> _Problems:
    if not config.root.startswith("/"):
        yield "$.root", f"{config.root!r} must be an absolute path"
    if not (config.discover_seconds == 0 or 0.1 <= config.discover_seconds <= 86_400):
        yield "$.discoverSeconds", "must be between 0.1 and 86400, or 0 for never"
    if not 1 <= len(config.groups) <= GROUPS_MAX:
        yield "$.groups", f"must have between 1 and {GROUPS_MAX} entries"
    for number, group in enumerate(config.groups):
        yield from _group(group, f"$.groups[{number}]")


def _group(group: Group, at: str) -> _Problems:
    broken = list(_finding(group, at))
    yield from broken
    if broken:
        # What is captured is not known then.
        return
    known = group.captures
    if group.command is not None and group.name == "{base}":
        yield f"{at}.name", "must say how devices that a command lists are called"
    yield from _templates([(f"{at}.name", group.name)], known)
    named = known if known is None else known | {"name"}
    for key, value in group.attributes.items():
        if isinstance(value, DerivedValue):
            yield from _derived(value, f"{at}.attributes.{key}", named)
    for key, amount in group.capacity.items():
        if isinstance(amount, CapacityValue):
            yield from _capacity(amount, f"{at}.capacity.{key}", named)
    yield from _container(group.container, f"{at}.container", named)
    if group.health is not None:
        yield from _range(group.health.every_seconds, _EVERY_SECONDS, f"{at}.health.everySeconds")
        for number, check in enumerate(group.health.checks):
            yield from _check(check, f"{at}.health.checks[{number}]", named)


def _finding(group: Group, at: str) -> _Problems:
    """What keeps a group's devices from being found."""
    if bool(group.match) == (group.command is not None):
        yield at, "must have one of match and command"
        return
    texts = [group.match] if isinstance(group.match, str) else list(group.match)
    for number, text in enumerate(texts):
        place = f"{at}.match" if isinstance(group.match, str) else f"{at}.match[{number}]"
        yield from _glob(text, place)
    for number, text in enumerate(group.exclude):
        yield from _glob(text, f"{at}.exclude[{number}]")
    if group.command is None:
        yield from _expression(group.pattern, f"{at}.pattern")
        return
    if group.pattern is not None or group.exclude:
        yield at, "exclude and pattern are for paths; of a command's lines say command.lines"
    if not group.command.run:
        yield f"{at}.command.run", "must have a program"
    yield from _expression(group.command.lines, f"{at}.command.lines")
    yield from _range(
        group.command.timeout_seconds, _TIMEOUT_SECONDS, f"{at}.command.timeoutSeconds"
    )


def _glob(text: str, at: str) -> _Problems:
    try:
        reserved = {"path", "base", "target", "name"} & set(Glob(text).names)
    except PatternError as error:
        yield at, str(error)
        return
    if reserved:
        yield at, f"{{{min(reserved)}}} has a meaning of its own: name the wildcard otherwise"


def _expression(text: str | None, at: str) -> _Problems:
    if text is None:
        return
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        yield at, f"{text!r} is not a regular expression: {error}"


def _templates(texts: Sequence[tuple[str, str]], known: frozenset[str] | None) -> _Problems:
    for at, text in texts:
        try:
            keys = Template(text).keys
        except PatternError as error:
            yield at, str(error)
            continue
        if known is not None and keys - known:
            what = ", ".join(sorted(known))
            yield at, f"{text!r}: nothing is captured as {min(keys - known)!r}, only {what}"


def _derived(value: DerivedValue, at: str, known: frozenset[str] | None) -> _Problems:
    if (value.value is None) == (value.file is None):
        yield at, "must have one of value and file"
        return
    yield from _templates([(at, value.value or value.file or "")], known)


def _capacity(amount: CapacityValue, at: str, known: frozenset[str] | None) -> _Problems:
    if (amount.value is None) == (amount.file is None):
        yield at, "must have one of value and file"
    if amount.file is not None:
        yield from _templates([(f"{at}.file", amount.file)], known)


def _container(container: Container, at: str, known: frozenset[str] | None) -> _Problems:
    for key, value in container.env.items():
        if not _VARIABLE.fullmatch(key):
            yield f"{at}.env", f"{key!r} is not the name of a variable"
        yield from _templates([(f"{at}.env.{key}", value)], known)
    for number, node in enumerate(container.device_nodes or ()):
        place = f"{at}.deviceNodes[{number}]"
        yield from _paths([("path", node.path), ("containerPath", node.container_path)], place)
        yield from _templates([(place, node.path), (place, node.container_path or "")], known)
        if not _PERMISSIONS.fullmatch(node.permissions):
            yield f"{place}.permissions", f"{node.permissions!r} must be some of r, w and m"
    for number, mount in enumerate(container.mounts):
        place = f"{at}.mounts[{number}]"
        both = [("hostPath", mount.host_path), ("containerPath", mount.container_path)]
        yield from _paths(both, place)
        yield from _templates([(place, text or "") for _, text in both], known)
    for number, hook in enumerate(container.hooks):
        place = f"{at}.hooks[{number}]"
        if hook.hook_name not in _HOOK_NAMES:
            yield f"{place}.hookName", f"{hook.hook_name!r} must be one of {', '.join(_HOOK_NAMES)}"
        yield from _paths([("path", hook.path)], place)
        texts = [hook.path, *hook.args, *hook.env.values()]
        yield from _templates([(place, text) for text in texts], known)
        if hook.timeout_seconds is not None and hook.timeout_seconds <= 0:
            yield f"{place}.timeoutSeconds", "must be more than 0"


def _paths(named: Sequence[tuple[str, str | None]], at: str) -> _Problems:
    for name, text in named:
        if text is not None and not text.startswith(("/", "{path}", "{target}")):
            yield f"{at}.{name}", f"{text!r} must be an absolute path"


def _check(check: Check, at: str, known: frozenset[str] | None) -> _Problems:
    asked = [check.exists is not None, check.file is not None, bool(check.command)]
    if sum(asked) != 1:
        yield at, "must have one of exists, file and command"
        return
    wanted = (check.equals, check.matches, check.at_most, check.at_least)
    compared = any(value is not None for value in wanted)
    if check.exists is not None and compared:
        yield at, "exists asks for nothing but a path: of its content ask with file"
    if check.file is not None and not compared:
        yield at, "a file must have one of equals, matches, atMost and atLeast"
    if not check.command and check.exit_code:
        yield f"{at}.exitCode", "is for commands"
    yield from _expression(check.matches, f"{at}.matches")
    yield from _range(check.timeout_seconds, _TIMEOUT_SECONDS, f"{at}.timeoutSeconds")
    texts = [check.exists or "", check.file or "", *check.command, check.message]
    yield from _templates([(at, text) for text in texts], known)


def _range(value: float, limits: tuple[float, float], at: str) -> _Problems:
    low, high = limits
    if not low <= value <= high:
        yield at, f"{value:g} must be between {low:g} and {high:g}"
