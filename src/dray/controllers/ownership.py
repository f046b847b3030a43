"""Whose an object is: at most one owner controls it, and an owner says by labels what it wants.

An object without a controller whose labels an owner selects is adopted; one that its controller no
longer selects is released. Nothing is taken from anybody. Upstream counterpart:
controller_ref_manager.go in pkg/controller.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from dray.api.labels import Selector
from dray.api.meta import LabelSelector, Object, OwnerReference
from dray.client import Client, Informer, PatchType
from dray.controllers.expectations import Expectations
from dray.controllers.reconciler import Key
from dray.errors import APIError, Conflict, Invalid, NotFound, TransportError

__all__ = [
    "Dependents",
    "controlled_by",
    "controller_of",
    "controller_reference",
    "index_by_controller",
    "is_controlled_by",
    "selector_of",
]

T = TypeVar("T", bound=Object)

Labels = Mapping[str, str]


def controller_of(obj: Object) -> OwnerReference | None:
    """Who controls an object."""
    for reference in obj.metadata.owner_references:
        if reference.controller:
            return reference
    return None


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """Whether this very owner controls it, not one of the same name."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def controller_reference(owner: Object) -> OwnerReference:
    """What makes an owner the controller of what carries it."""
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def selector_of(selector: LabelSelector | None) -> Selector:
    """The labels that an object's selector wants; an absent one wants nothing."""
    if selector is None:
        return Selector.nothing()
    expressions = ((each.key, each.operator, each.values) for each in selector.match_expressions)
    return Selector.from_label_selector(selector.match_labels, expressions)


def index_by_controller(view: Informer[T]) -> None:
    """Have objects found by who controls them."""
    view.add_index(_INDEX, _index_keys)


def controlled_by(view: Informer[T], uid: str) -> Sequence[T]:
    """What the owner of a uid controls, in a view that is indexed so."""
    return view.by_index(_INDEX, uid)


class Dependents(Generic[T]):
    """The objects of a kind that owners control, or may adopt."""

    def __init__(
        self, client: Client, kind: type[T], view: Informer[T], expectations: Expectations[T]
    ) -> None:
        self._client = client
        self._kind = kind
        self._view = view
        self._expectations = expectations
        index_by_controller(view)

    def of(self, owner: Object) -> Sequence[T]:
        """What an owner controls."""
        return controlled_by(self._view, owner.metadata.uid)

    def orphans(self, namespace: str, selector: LabelSelector | None) -> Sequence[T]:
        """What nobody controls and may be selected: not much more than what is."""
        if selector is None:
            return ()
        label = next(iter(sorted(selector.match_labels.items())), ())
        return self._view.by_index(_INDEX, (namespace, *label))

    async def claim(
        self,
        owner: Object,
        selector: LabelSelector | None,
        *,
        only: Callable[[T], bool] = lambda _obj: True,
        finalizers: Sequence[str] = (),
    ) -> list[T]:
        """What an owner controls after adopting and releasing, of those that `only` lets through.

        What is adopted gets the finalizers, and what is released loses them. What fails is raised
        once the rest is done.
        """
        matches = selector_of(selector).matcher()
        going = owner.metadata.deletion_timestamp is not None
        claimed: list[T] = []
        released: list[T] = []
        for obj in self.of(owner):
            if only(obj):
                (claimed if matches(obj.metadata.labels) else released).append(obj)
        adopted: list[T] = []
        if not going:
            adopted = [
                orphan
                for orphan in self.orphans(owner.metadata.namespace, selector)
                if orphan.metadata.deletion_timestamp is None
                and only(orphan)
                and matches(orphan.metadata.labels)
            ]
        if not adopted and (going or not released):
            return claimed
        failure: APIError | TransportError | None = None
        if adopted:
            await self._check_owner(owner)
        key = Key.of(owner)
        for obj, patch in (
            *((obj, _release(owner, obj, finalizers)) for obj in released),
            *((obj, _adopt(owner, obj, finalizers)) for obj in adopted),
        ):
            try:
                changed = await self._patch(obj, patch)
            except NotFound:
                continue
            except (APIError, TransportError) as error:
                if not (isinstance(error, Invalid) and is_controlled_by(obj, owner)):
                    failure = failure or error  # refused a release: it is another object by now
                continue
            self._expectations.changed(key, changed)
            if is_controlled_by(changed, owner):
                claimed.append(changed)
        if failure is not None:
            raise failure
        return claimed

    # Private -----------------------------------------------------------------------------------

    async def _check_owner(self, owner: Object) -> None:
        """Who is being deleted adopts nothing: the collector may already be past it."""
        metadata = owner.metadata
        fresh = await self._client.get(type(owner), metadata.name, namespace=metadata.namespace)
        named = f"{metadata.namespace}/{metadata.name}"
        if fresh.metadata.uid != metadata.uid:
            told = f"got uid {fresh.metadata.uid}, wanted {metadata.uid}"
            raise Conflict(f"original {owner.kind} {named} is gone: {told}")
        if fresh.metadata.deletion_timestamp is not None:
            at = fresh.metadata.deletion_timestamp
            raise Conflict(f"{named} has just been deleted at {at}")

    async def _patch(self, obj: T, patch: Any) -> T:
        return await self._client.patch(
            self._kind,
            obj.metadata.name,
            patch,
            namespace=obj.metadata.namespace,
            type=PatchType.STRATEGIC,
        )


_INDEX: Final = "controller"


def _index_keys(obj: Object) -> Iterable[Hashable]:
    controller = controller_of(obj)
    if controller is not None:
        return (controller.uid,)
    return _orphan_keys(obj)


def _orphan_keys(obj: Object) -> Iterator[Hashable]:
    """Its namespace, and each label there: whoever selects by labels need not see all orphans."""
    namespace = obj.metadata.namespace
    yield (namespace,)
    for key, value in obj.metadata.labels.items():
        yield namespace, key, value


def _adopt(owner: Object, obj: Object, finalizers: Sequence[str]) -> Any:
    metadata: dict[str, Any] = {
        "uid": obj.metadata.uid,
        "ownerReferences": [controller_reference(owner)],
    }
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"metadata": metadata}


def _release(owner: Object, obj: Object, finalizers: Sequence[str]) -> Any:
    metadata: dict[str, Any] = {
        "uid": obj.metadata.uid,
        "ownerReferences": [{"$patch": "delete", "uid": owner.metadata.uid}],
    }
    if finalizers:
        metadata["$deleteFromPrimitiveList/finalizers"] = list(finalizers)
    return {"metadata": metadata}
