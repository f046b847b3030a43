"""One step of a rollout, carried out: replica sets made and scaled, and the deployment told so."""

from __future__ import annotations

from typing import Final

from dray.api.apps import (
    DEPLOYMENT_CONDITION_PROGRESSING,
    LABEL_POD_TEMPLATE_HASH,
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetSpec,
)
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import replace
from dray.controllers.deployments.conditions import find_condition, progressing, with_condition
from dray.controllers.deployments.family import (
    REVISION,
    Family,
    new_annotations,
    replicas_of,
    revision_of,
    same_template,
    size_annotations,
)
from dray.controllers.deployments.sizes import Sizes, new_size
from dray.controllers.deployments.status import (
    PAUSED,
    RESUMED,
    current_status,
    has_deadline,
    rollout_status,
    seconds_to_timeout,
)
from dray.controllers.expectations import Expectations
from dray.controllers.ownership import controller_reference, is_controlled_by
from dray.controllers.pod_control import EVENT_NORMAL, EVENT_WARNING, is_namespace_going
from dray.controllers.reconciler import Context, Key, Result
from dray.controllers.template_hash import hashed_name, template_hash
from dray.errors import AlreadyExists, APIError, NotFound

__all__ = ["Rollout"]

_ALL_REVISIONS: Final = 2**31 - 1


class Rollout:
    """A deployment and its replica sets in one look, kept up to date with what is done to them."""

    def __init__(
        self,
        context: Context,
        deployment: Deployment,
        family: Family,
        *,
        replica_sets: Expectations[ReplicaSet],
        deployments: Expectations[Deployment],
    ) -> None:
        self._client = context.client
        self._events = context.events
        self._now = context.clock.now()
        self._stored = deployment
        self._key = Key.of(deployment)
        self._replica_sets = replica_sets
        self._deployments = deployments
        self.deployment = deployment
        self.family = family

    def note_pause(self) -> None:
        """A rollout that was stopped does not count as slow."""
        if not has_deadline(self.deployment):
            return
        known = self._progress()
        paused = known is not None and known.reason == PAUSED
        if known is not None and known.reason == "ProgressDeadlineExceeded":
            return
        if self.deployment.spec.paused and not paused:
            self._tell("Unknown", PAUSED, "Deployment is paused")
        elif not self.deployment.spec.paused and paused:
            self._tell("Unknown", RESUMED, "Deployment is resumed")

    async def renew(self) -> None:
        """Have the newest replica set, if there is one, say what it stands for."""
        new = self.family.new
        if new is None:
            return
        known = new.metadata.annotations
        annotations = new_annotations(self.deployment, known, self.family.next_revision())
        seconds = self.deployment.spec.min_ready_seconds
        if annotations != known or new.spec.min_ready_seconds != seconds:
            new = replace(
                new,
                metadata=replace(new.metadata, annotations=annotations),
                spec=replace(new.spec, min_ready_seconds=seconds),
            )
            self.family = self.family.with_new(await self._update(new))
        if has_deadline(self.deployment) and self._progress() is None:
            message = f'Found new replica set "{new.metadata.name}"'
            self._tell("True", "FoundNewReplicaSet", message)
        self._revise(new)

    async def begin(self) -> None:
        """Make the newest replica set, as large as it may be."""
        wanted = self._wanted()
        name = wanted.metadata.name
        try:
            new = await self._client.create(wanted)
        except AlreadyExists as error:
            new = await self._existing(wanted, error)
        except APIError as error:
            if is_namespace_going(error):
                raise
            message = f'Failed to create new replica set "{name}": {error}'
            self._events.record(self.deployment, EVENT_WARNING, "ReplicaSetCreateError", message)
            if has_deadline(self.deployment):
                self._tell("False", "ReplicaSetCreateError", message)
                await self._write(self.deployment.status)
            raise
        else:
            self._replica_sets.created(self._key, new)
            if size := replicas_of(new):
                self._say_scaled(new, 0, size)
            if has_deadline(self.deployment):
                self._tell("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
        self.family = self.family.with_new(new)
        self._revise(new)

    async def scale(self, sizes: Sizes) -> None:
        """Give replica sets these sizes, and have them remember the deployment's."""
        remembered = size_annotations(self.deployment)
        for each in self.family.all:
            size, before = sizes.get(each.metadata.uid), replicas_of(each)
            annotations = {**each.metadata.annotations, **remembered}
            if size is None or (size == before and annotations == each.metadata.annotations):
                continue
            changed = replace(
                each,
                metadata=replace(each.metadata, annotations=annotations),
                spec=replace(each.spec, replicas=size),
            )
            self.family = self.family.with_changed(await self._update(changed))
            if size != before:
                self._say_scaled(each, before, size)

    async def forget_old(self) -> None:
        """Delete former replica sets, but for as many of the latest as are to be kept."""
        limit = self.deployment.spec.revision_history_limit
        if limit is None or limit == _ALL_REVISIONS:
            return
        old = [each for each in self.family.old if each.metadata.deletion_timestamp is None]
        old.sort(key=revision_of)
        for each in old[: max(0, len(old) - limit)]:
            status, metadata = each.status, each.metadata
            if status.replicas or replicas_of(each):
                continue
            if metadata.generation > status.observed_generation:
                continue
            try:
                await self._client.delete(
                    ReplicaSet,
                    metadata.name,
                    namespace=metadata.namespace,
                    uid=metadata.uid,
                    resource_version=metadata.resource_version,
                )
            except NotFound:
                continue
            self._replica_sets.deleted(self._key, each)

    async def say_counts(self) -> None:
        """Write how things are, without judging whether they get on."""
        await self._write(current_status(self.deployment, self.family, self._now))

    async def say_progress(self) -> Result:
        """Write how things are, and whether they get on; look again when they should have."""
        status = rollout_status(self.deployment, self.family, self._stored.status, self._now)
        await self._write(status)
        return Result(seconds_to_timeout(self.deployment, status, self._now))

    # Private -----------------------------------------------------------------------------------

    def _progress(self) -> DeploymentCondition | None:
        conditions = self.deployment.status.conditions
        return find_condition(conditions, DEPLOYMENT_CONDITION_PROGRESSING)

    def _tell(self, status: str, reason: str, message: str) -> None:
        known = self.deployment.status
        condition = progressing(status, reason, message, self._now)
        conditions = with_condition(known.conditions, condition)
        self.deployment = replace(self.deployment, status=replace(known, conditions=conditions))

    def _revise(self, new: ReplicaSet) -> None:
        """The deployment is of the revision of its newest replica set."""
        metadata = self.deployment.metadata
        revision = new.metadata.annotations.get(REVISION, "")
        if metadata.annotations.get(REVISION) != revision:
            annotations = {**metadata.annotations, REVISION: revision}
            self.deployment = replace(
                self.deployment, metadata=replace(metadata, annotations=annotations)
            )

    def _wanted(self) -> ReplicaSet:
        deployment = self.deployment
        spec, metadata = deployment.spec, deployment.metadata
        name = template_hash(spec.template, deployment.status.collision_count)
        mark = {LABEL_POD_TEMPLATE_HASH: name}
        labels = {**spec.template.metadata.labels, **mark}
        selector = spec.selector or LabelSelector()
        template = replace(spec.template, metadata=replace(spec.template.metadata, labels=labels))
        annotations = {
            **new_annotations(deployment, {}, self.family.next_revision()),
            **size_annotations(deployment),
        }
        return ReplicaSet(
            metadata=ObjectMeta(
                name=hashed_name(metadata.name, name),
                namespace=metadata.namespace,
                labels=labels,
                annotations=annotations,
                owner_references=(controller_reference(deployment),),
            ),
            spec=ReplicaSetSpec(
                replicas=new_size(deployment, self.family),
                min_ready_seconds=spec.min_ready_seconds,
                selector=replace(selector, match_labels={**selector.match_labels, **mark}),
                template=template,
            ),
        )

    async def _existing(self, wanted: ReplicaSet, error: AlreadyExists) -> ReplicaSet:
        """The replica set of the wanted name, if it is the wanted one; else choose another name."""
        metadata = wanted.metadata
        found = await self._client.get(ReplicaSet, metadata.name, namespace=metadata.namespace)
        template = self.deployment.spec.template
        if is_controlled_by(found, self.deployment) and same_template(
            found.spec.template, template
        ):
            return found
        status = self.deployment.status
        count = (status.collision_count or 0) + 1
        await self._write(replace(status, collision_count=count))
        raise error

    async def _update(self, replica_set: ReplicaSet) -> ReplicaSet:
        written = await self._client.update(replica_set)
        self._replica_sets.changed(self._key, written)
        return written

    async def _write(self, status: DeploymentStatus) -> None:
        wanted = replace(self.deployment, status=status)
        if wanted == self._stored:
            return
        # Annotations come along with the status: a write of the whole would be a new generation.
        written = await self._client.update_status(wanted)
        self._deployments.changed(self._key, written)

    def _say_scaled(self, replica_set: ReplicaSet, before: int, after: int) -> None:
        way = "up" if after > before else "down"
        message = f"Scaled {way} replica set {replica_set.metadata.name} from {before} to {after}"
        self._events.record(self.deployment, EVENT_NORMAL, "ScalingReplicaSet", message)
