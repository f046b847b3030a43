"""apps/v1: the controllers that keep pods running, what they were, and the scale they share.

StatefulSet is not among dray's kinds. Scale belongs to autoscaling/v1 and is only ever seen as a
subresource. Upstream counterparts: k8s.io/api/apps/v1, k8s.io/api/autoscaling/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import PodTemplateSpec
from dray.api.meta import LabelSelector, ListMeta, Object
from dray.api.wire import NULL, Carried, Int32, Int64, Struct, Time, always

__all__ = [
    "DAEMON_SET_ON_DELETE",
    "DAEMON_SET_ROLLING_UPDATE",
    "DEPLOYMENT_CONDITION_AVAILABLE",
    "DEPLOYMENT_CONDITION_PROGRESSING",
    "DEPLOYMENT_CONDITION_REPLICA_FAILURE",
    "DEPLOYMENT_RECREATE",
    "DEPLOYMENT_ROLLING_UPDATE",
    "LABEL_CONTROLLER_REVISION_HASH",
    "LABEL_POD_TEMPLATE_HASH",
    "REPLICA_SET_CONDITION_REPLICA_FAILURE",
    "ControllerRevision",
    "ControllerRevisionList",
    "DaemonSet",
    "DaemonSetCondition",
    "DaemonSetList",
    "DaemonSetSpec",
    "DaemonSetStatus",
    "DaemonSetUpdateStrategy",
    "Deployment",
    "DeploymentCondition",
    "DeploymentList",
    "DeploymentSpec",
    "DeploymentStatus",
    "DeploymentStrategy",
    "ReplicaSet",
    "ReplicaSetCondition",
    "ReplicaSetList",
    "ReplicaSetSpec",
    "ReplicaSetStatus",
    "RollingUpdateDaemonSet",
    "RollingUpdateDeployment",
    "Scale",
    "ScaleSpec",
    "ScaleStatus",
]

DEPLOYMENT_RECREATE: Final = "Recreate"
DEPLOYMENT_ROLLING_UPDATE: Final = "RollingUpdate"

DEPLOYMENT_CONDITION_AVAILABLE: Final = "Available"
DEPLOYMENT_CONDITION_PROGRESSING: Final = "Progressing"
DEPLOYMENT_CONDITION_REPLICA_FAILURE: Final = "ReplicaFailure"

REPLICA_SET_CONDITION_REPLICA_FAILURE: Final = "ReplicaFailure"

DAEMON_SET_ROLLING_UPDATE: Final = "RollingUpdate"
DAEMON_SET_ON_DELETE: Final = "OnDelete"

LABEL_POD_TEMPLATE_HASH: Final = "pod-template-hash"
LABEL_CONTROLLER_REVISION_HASH: Final = "controller-revision-hash"


# Deployment ------------------------------------------------------------------------------------


class RollingUpdateDeployment(Struct):
    """How far below and above the wanted number a rollout may go: a count or a percentage."""

    max_unavailable: Int32 | str | None = None
    max_surge: Int32 | str | None = None


class DeploymentStrategy(Struct):
    """How old pods give way to new ones."""

    type: str = ""
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(Struct):
    """How many pods, of what template, replaced how."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = always(None)
    template: PodTemplateSpec = always(PodTemplateSpec)
    strategy: DeploymentStrategy = always(DeploymentStrategy)
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    paused: bool = False
    progress_deadline_seconds: Int32 | None = None


class DeploymentCondition(Struct):
    """One aspect of a rollout."""

    type: str = always("")
    status: str = always("")
    last_update_time: Time | None = always(None)
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class DeploymentStatus(Struct):
    """How far the rollout has come."""

    observed_generation: Int64 = 0
    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    conditions: tuple[DeploymentCondition, ...] = ()
    collision_count: Int32 | None = None


class Deployment(Object):
    """A number of equal pods that changes template gradually, through replica sets."""

    api_version: str = always("apps/v1")
    kind: str = always("Deployment")
    spec: DeploymentSpec = always(DeploymentSpec)
    status: DeploymentStatus = always(DeploymentStatus)


class DeploymentList(Struct):
    """Several deployments."""

    api_version: str = always("apps/v1")
    kind: str = always("DeploymentList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Deployment, ...] | None = always(None)


# ReplicaSet ------------------------------------------------------------------------------------


class ReplicaSetSpec(Struct):
    """How many pods, of what template."""

    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = always(None)
    template: PodTemplateSpec = always(PodTemplateSpec)


class ReplicaSetCondition(Struct):
    """One aspect of a replica set's state."""

    type: str = always("")
    status: str = always("")
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class ReplicaSetStatus(Struct):
    """How many pods there are."""

    replicas: Int32 = always(0)
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    observed_generation: Int64 = 0
    conditions: tuple[ReplicaSetCondition, ...] = ()


class ReplicaSet(Object):
    """A number of equal pods."""

    api_version: str = always("apps/v1")
    kind: str = always("ReplicaSet")
    spec: ReplicaSetSpec = always(ReplicaSetSpec)
    status: ReplicaSetStatus = always(ReplicaSetStatus)


class ReplicaSetList(Struct):
    """Several replica sets."""

    api_version: str = always("apps/v1")
    kind: str = always("ReplicaSetList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ReplicaSet, ...] | None = always(None)


# DaemonSet -------------------------------------------------------------------------------------


class RollingUpdateDaemonSet(Struct):
    """How many nodes may be without a pod, or have two: a count or a percentage."""

    max_unavailable: Int32 | str | None = None
    max_surge: Int32 | str | None = None


class DaemonSetUpdateStrategy(Struct):
    """How old pods give way to new ones."""

    type: str = ""
    rolling_update: RollingUpdateDaemonSet | None = None


class DaemonSetSpec(Struct):
    """The pod for every node, replaced how."""

    selector: LabelSelector | None = always(None)
    template: PodTemplateSpec = always(PodTemplateSpec)
    update_strategy: DaemonSetUpdateStrategy = always(DaemonSetUpdateStrategy)
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None


class DaemonSetCondition(Struct):
    """One aspect of a daemon set's state."""

    type: str = always("")
    status: str = always("")
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class DaemonSetStatus(Struct):
    """On how many nodes a pod should be, is, and should not be."""

    current_number_scheduled: Int32 = always(0)
    number_misscheduled: Int32 = always(0)
    desired_number_scheduled: Int32 = always(0)
    number_ready: Int32 = always(0)
    observed_generation: Int64 = 0
    updated_number_scheduled: Int32 = 0
    number_available: Int32 = 0
    number_unavailable: Int32 = 0
    collision_count: Int32 | None = None
    conditions: tuple[DaemonSetCondition, ...] = ()


class DaemonSet(Object):
    """One pod on every node that fits."""

    api_version: str = always("apps/v1")
    kind: str = always("DaemonSet")
    spec: DaemonSetSpec = always(DaemonSetSpec)
    status: DaemonSetStatus = always(DaemonSetStatus)


class DaemonSetList(Struct):
    """Several daemon sets."""

    api_version: str = always("apps/v1")
    kind: str = always("DaemonSetList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[DaemonSet, ...] | None = always(None)


# ControllerRevision ----------------------------------------------------------------------------


class ControllerRevision(Object):
    """What a controller was made of once, in a form that only its controller reads."""

    api_version: str = always("apps/v1")
    kind: str = always("ControllerRevision")
    data: Carried = always(NULL)
    revision: Int64 = always(0)


class ControllerRevisionList(Struct):
    """Several revisions."""

    api_version: str = always("apps/v1")
    kind: str = always("ControllerRevisionList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ControllerRevision, ...] | None = always(None)


# Scale -----------------------------------------------------------------------------------------


class ScaleSpec(Struct):
    """How many are wanted."""

    replicas: Int32 = 0


class ScaleStatus(Struct):
    """How many there are, and the label query that finds them."""

    replicas: Int32 = always(0)
    selector: str = ""


class Scale(Object):
    """The number of replicas of something, whatever its kind."""

    api_version: str = always("autoscaling/v1")
    kind: str = always("Scale")
    spec: ScaleSpec = always(ScaleSpec)
    status: ScaleStatus = always(ScaleStatus)
