"""Rolls out deployments. How far is decided in the modules beside this one."""

from __future__ import annotations

from typing import Final

from dray.api.apps import DEPLOYMENT_RECREATE, Deployment, ReplicaSet
from dray.api.core import Pod
from dray.api.meta import LabelSelector
from dray.controllers.deployments.family import Family, family_of
from dray.controllers.deployments.limits import is_rolling, wanted_replicas
from dray.controllers.deployments.rollout import Rollout
from dray.controllers.deployments.sizes import (
    is_resized,
    recreate_sizes,
    resized_sizes,
    rolling_sizes,
)
from dray.controllers.deployments.status import is_complete
from dray.controllers.expectations import WAITING, Expectations
from dray.controllers.owners import Owners
from dray.controllers.ownership import (
    Dependents,
    controlled_by,
    controller_of,
    index_by_controller,
)
from dray.controllers.pod_control import EVENT_WARNING
from dray.controllers.pod_states import is_terminal
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import ParseError

__all__ = ["DeploymentController"]


class DeploymentController(Reconciler):
    """Deployments, and the replica sets they own."""

    name = "deployment-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._deployments = context.informers.of(Deployment)
        self._replica_sets = context.informers.of(ReplicaSet)
        self._pods = context.informers.of(Pod)
        index_by_controller(self._pods)
        self._written = Expectations(self._deployments, context.clock)
        self._made = Expectations(self._replica_sets, context.clock)
        self._owned = Dependents(context.client, ReplicaSet, self._replica_sets, self._made)
        self._owners: Final = Owners(
            self._deployments,
            self._replica_sets,
            self.queue,
            kind="Deployment",
            selector=lambda deployment: deployment.spec.selector,
        )
        self._deployments.listen(self._hear)
        self._pods.listen(self._hear_pod)

    async def reconcile(self, key: Key) -> Result:
        deployment = self._deployments.get(key.name, key.namespace)
        if deployment is None:
            self._written.forget(key)
            self._made.forget(key)
            return DONE
        if not self._written.met(key) or not self._made.met(key):
            return WAITING
        if deployment.spec.selector == LabelSelector():
            message = "This deployment is selecting all pods. A non-empty selector is required."
            self.context.events.record(deployment, EVENT_WARNING, "SelectingAll", message)
            return DONE
        try:
            owned = await self._owned.claim(deployment, deployment.spec.selector)
        except ParseError:
            return DONE  # it selects nothing, and the API should never have taken it
        rollout = Rollout(
            self.context,
            deployment,
            family_of(deployment, owned),
            replica_sets=self._made,
            deployments=self._written,
        )
        return await self._advance(rollout)

    # Private -----------------------------------------------------------------------------------

    def _hear(self, old: Deployment | None, new: Deployment | None) -> None:
        deployment = new or old
        assert deployment is not None
        self.queue.add(Key.of(deployment))

    def _hear_pod(self, old: Pod | None, new: Pod | None) -> None:
        """A deployment whose pods are replaced all at once waits for the last of them to go."""
        if new is not None or old is None:
            return
        reference = controller_of(old)
        if reference is None or reference.kind != "ReplicaSet":
            return
        replica_set = self._replica_sets.get(reference.name, old.metadata.namespace)
        deployment = self._owners.owner_of(replica_set) if replica_set is not None else None
        if deployment is not None and deployment.spec.strategy.type == DEPLOYMENT_RECREATE:
            self.queue.add(Key.of(deployment))

    async def _advance(self, rollout: Rollout) -> Result:
        deployment = rollout.deployment
        if deployment.metadata.deletion_timestamp is not None:
            await rollout.say_counts()
            return DONE
        rollout.note_pause()
        await rollout.renew()
        if deployment.spec.paused or is_resized(deployment, rollout.family):
            await rollout.scale(resized_sizes(deployment, rollout.family))
            if deployment.spec.paused:
                await rollout.forget_old()
            await rollout.say_counts()
            return DONE
        if is_rolling(deployment):
            await self._roll(rollout)
        else:
            await self._recreate(rollout)
        return await rollout.say_progress()

    async def _roll(self, rollout: Rollout) -> None:
        deployment = rollout.deployment
        if rollout.family.new is None:
            await rollout.begin()
        sizes = rolling_sizes(deployment, rollout.family)
        await rollout.scale(sizes)
        if not sizes and is_complete(deployment, deployment.status):
            await rollout.forget_old()

    async def _recreate(self, rollout: Rollout) -> None:
        deployment = rollout.deployment
        sizes = recreate_sizes(deployment, rollout.family)
        if sizes:
            await rollout.scale(sizes)
            return
        if self._old_pods_run(rollout.family):
            return
        if rollout.family.new is None:
            await rollout.begin()
        elif rollout.family.new.spec.replicas != wanted_replicas(deployment):
            uid = rollout.family.new.metadata.uid
            await rollout.scale({uid: wanted_replicas(deployment)})
        if is_complete(deployment, deployment.status):
            await rollout.forget_old()

    def _old_pods_run(self, family: Family) -> bool:
        if any(each.status.replicas for each in family.old):
            return True
        return any(
            not is_terminal(pod)
            for each in family.old
            for pod in controlled_by(self._pods, each.metadata.uid)
        )
