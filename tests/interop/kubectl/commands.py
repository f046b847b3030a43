"""What people type: kubectl commands in order, with the files they use.

They run one after the other against one server, in one namespace; later ones see what earlier ones
made. `{dir}` stands for the folder of the files.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COMMANDS", "FILES", "Command"]


@dataclass(frozen=True, slots=True)
class Command:
    """One command line after `kubectl`, with what it is given and what of its output counts."""

    line: str
    stdin: str = ""
    # A shell command that changes the file it is given, in the place of an editor.
    editor: str = ""
    # sorted: lines in any order; exit: only the exit code; fields: no documentation; diff: no file
    # names; retry: until done; nothing: not even whether it worked, as where controllers run it may
    # have been done already.
    shown: str = "all"


FILES = {
    "map.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: filed
  labels:
    from: file
data:
  color: green
""",
    "map-changed.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: filed
  labels:
    from: file
data:
  color: blue
  size: "3"
""",
    "bad.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: bad
dta:
  color: green
""",
    "unknown.yaml": """\
apiVersion: example.com/v1
kind: Nothing
metadata:
  name: nothing
""",
    "pod.yaml": """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    app: web
spec:
  nodeName: n1
  containers:
  - name: main
    image: registry.example/app:1.0
    ports:
    - containerPort: 80
  - name: side
    image: registry.example/side:1.0
""",
    "deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: front
spec:
  replicas: 2
  selector:
    matchLabels:
      app: front
  template:
    metadata:
      labels:
        app: front
    spec:
      containers:
      - name: main
        image: registry.example/front:1.0
""",
    "devices.yaml": """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec:
  selectors:
  - cel:
      expression: device.driver == "gpu.example.com"
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata:
  name: n1-gpu
spec:
  driver: gpu.example.com
  nodeName: n1
  pool:
    name: n1
    generation: 1
    resourceSliceCount: 1
  devices:
  - name: gpu-0
    attributes:
      model:
        string: A
    capacity:
      memory:
        value: 40Gi
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: claim
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: template
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
""",
    "daemonset.yaml": """\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
      - name: main
        image: registry.example/agent:1.0
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: agent-abc
  labels: {app: agent}
  ownerReferences:
  - apiVersion: apps/v1
    kind: DaemonSet
    name: agent
    uid: 00000000-0000-0000-0000-000000000001
    controller: true
data: {spec: {template: {$patch: replace, spec: {hostNetwork: true}}}}
revision: 4
""",
    "node.yaml": """\
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels:
    kubernetes.io/hostname: n1
""",
    "definition.yaml": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boxes.kubectl.example.com
spec:
  group: kubectl.example.com
  scope: Namespaced
  names:
    plural: boxes
    singular: box
    kind: Box
    shortNames: [bx]
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - name: Size
      type: integer
      jsonPath: .spec.size
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size:
                type: integer
                minimum: 1
""",
    "box.yaml": """\
apiVersion: kubectl.example.com/v1
kind: Box
metadata:
  name: box
spec:
  size: 3
""",
}

ALLOCATION = (
    '{"status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.example.com",'
    '"pool":"n1","device":"gpu-0"}]}},"reservedFor":[{"resource":"pods","name":"web","uid":"u"}]}}'
)

RUNNING = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'

COMMANDS = (
    Command("version"),
    Command("cluster-info"),
    Command("api-versions", shown="exit"),
    Command("api-resources --api-group=resource.k8s.io"),
    Command("api-resources --api-group=apps -o name", shown="exit"),
    Command("api-resources --namespaced=false --api-group=rbac.authorization.k8s.io -o wide"),
    Command("api-resources --verbs=evict", shown="exit"),
    Command("get --raw /healthz"),
    Command("get --raw /api"),
    Command("get --raw /nowhere"),
    Command("config current-context", shown="exit"),
    Command("config view --minify -o jsonpath={.contexts[0].name}", shown="exit"),
    Command("auth whoami", shown="exit"),
    Command("auth can-i create pods"),
    Command("auth can-i create pods --as=mallory"),
    Command("auth can-i get nothings"),
    Command("auth can-i --list --as=mallory", shown="exit"),
    # Namespaces and accounts
    Command("create namespace play"),
    Command("create namespace play"),
    Command("create serviceaccount default -n play", shown="nothing"),
    Command("config set-context --current --namespace=play", shown="exit"),
    Command("get namespace play"),
    Command("get ns play -o name"),
    Command("get ns play -o jsonpath={.status.phase}"),
    Command("describe ns play"),
    Command("label ns play team=red"),
    # Config maps from the command line
    Command("create configmap one --from-literal=a=1 --from-literal=b=two"),
    Command("create configmap one --from-literal=a=1"),
    Command("create configmap two --from-file={dir}/map.yaml"),
    Command("create configmap dry --from-literal=a=1 --dry-run=client -o yaml"),
    Command("create configmap dry --from-literal=a=1 --dry-run=server -o yaml"),
    Command("create secret generic quiet --from-literal=password=x"),
    Command("create secret tls bad --cert={dir}/map.yaml --key={dir}/map.yaml"),
    Command("create token default --duration=1h", shown="exit"),
    Command("create token nobody"),
    Command("get configmaps"),
    Command("get cm one"),
    Command("get cm one -o yaml"),
    Command("get cm one -o json"),
    Command("get cm one -o yaml --show-managed-fields"),
    Command("get cm one -o jsonpath={.data.a}"),
    Command("get cm one -o go-template={{.data.b}}"),
    Command("get cm -o custom-columns=NAME:.metadata.name,A:.data.a"),
    Command("get cm -o name"),
    Command("get cm -o wide"),
    Command("get cm --show-labels"),
    Command("get cm -L from"),
    Command("get cm --sort-by=.metadata.name --no-headers"),
    Command("get cm --field-selector=metadata.name=one"),
    Command("get cm --field-selector=data.a=1"),
    Command("get cm -l nothing=here"),
    Command("get cm --chunk-size=1"),
    Command("get cm,secret"),
    Command("get cm nothing"),
    Command("get nothings"),
    Command("get cm one nothing"),
    Command("get secret quiet -o jsonpath={.data.password}"),
    Command("describe cm one", shown="sorted"),
    Command("describe secret quiet"),
    # Files
    Command("apply -f {dir}/map.yaml"),
    Command("apply -f {dir}/map.yaml"),
    Command("diff -f {dir}/map-changed.yaml", shown="diff"),
    Command("apply -f {dir}/map-changed.yaml --dry-run=server"),
    Command("apply -f {dir}/map-changed.yaml"),
    Command("apply view-last-applied cm/filed"),
    Command("get -f {dir}/map.yaml -o jsonpath={.data}"),
    Command("apply -f {dir}/bad.yaml"),
    Command("apply -f {dir}/bad.yaml --validate=warn"),
    Command("create -f {dir}/bad.yaml --validate=ignore"),
    Command("apply -f {dir}/unknown.yaml"),
    Command("create -f {dir}/map.yaml"),
    Command("replace -f {dir}/map.yaml"),
    Command("replace --force -f {dir}/map.yaml"),
    Command("apply -f -", stdin=FILES["map-changed.yaml"]),
    Command("apply --server-side -f {dir}/map.yaml"),
    Command("apply --server-side --force-conflicts -f {dir}/map.yaml"),
    Command("apply --server-side -f {dir}/map-changed.yaml --field-manager=other"),
    Command("get cm filed -o yaml --show-managed-fields"),
    Command("apply -f {dir}/map.yaml --prune -l from=file"),
    # Changing things in place
    Command('patch cm one -p \'{"data":{"a":"9"}}\''),
    Command('patch cm one -p \'{"data":{"a":"9"}}\''),
    Command('patch cm one --type=merge -p \'{"data":{"b":null}}\''),
    Command('patch cm one --type=json -p \'[{"op":"add","path":"/data/c","value":"d"}]\''),
    Command('patch cm one --type=json -p \'[{"op":"test","path":"/data/c","value":"z"}]\''),
    Command("patch cm nothing -p '{}'"),
    Command("label cm one tier=front"),
    Command("label cm one tier=back"),
    Command("label cm one tier=back --overwrite"),
    Command("label cm one tier-"),
    Command("label cm one 'bad label=x'"),
    Command("label cm --all seen=yes"),
    Command("annotate cm one note=hello"),
    Command("edit cm one", editor="sed -i s/hello/world/"),
    Command("get cm one -o jsonpath={.metadata.annotations.note}"),
    Command("edit cm one", editor="true"),
    Command("annotate cm one note-"),
    Command("edit cm nothing", editor="true"),
    Command("set env deployment/none A=b"),
    # Pods
    Command("run quick --image=registry.example/quick:1.0 --restart=Never --labels=run=quick"),
    Command("run quick --image=registry.example/quick:1.0"),
    Command("run dry --image=registry.example/dry:1.0 --dry-run=client -o yaml"),
    Command("apply -f {dir}/pod.yaml"),
    Command("get pods"),
    Command("get pods -o wide"),
    Command("get pods -A", shown="exit"),
    Command("get pod web -o jsonpath={.spec.containers[*].name}"),
    Command("get pods --field-selector=spec.nodeName=n1"),
    Command("get pod web --subresource=status -o name"),
    Command(f"patch pod web --subresource=status -p '{RUNNING}'"),
    Command("wait --for=condition=Ready pod/web --timeout=20s"),
    Command("wait --for=condition=Ready pod/quick --timeout=1s"),
    Command("wait --for=jsonpath={.status.phase}=Running pod/web --timeout=20s"),
    Command("wait --for=delete pod/nothing --timeout=1s"),
    Command("wait --for=condition=Ready pod/nothing --timeout=1s"),
    Command("describe pod web"),
    Command("logs quick"),
    Command("logs web"),
    Command("logs nothing"),
    Command("logs web -c nothing"),
    Command("events"),
    Command("get events"),
    Command("set image pod/web main=registry.example/app:2.0"),
    Command("delete pod quick"),
    Command("delete pod quick"),
    Command("delete pod quick --ignore-not-found"),
    Command("delete pod web --wait=false"),
    Command("get pod web --no-headers"),
    Command("delete pod web --grace-period=0 --force"),
    # Nodes
    Command("create -f {dir}/node.yaml"),
    Command("get nodes"),
    Command("get node n1 -o wide"),
    Command("cordon n1"),
    Command("cordon n1"),
    Command("get node n1 --no-headers"),
    Command("uncordon n1"),
    Command("taint node n1 dedicated=gpu:NoSchedule"),
    Command("taint node n1 dedicated=cpu:NoSchedule"),
    Command("taint node n1 dedicated=cpu:NoSchedule --overwrite"),
    Command("taint node n1 dedicated-"),
    Command("taint node n1 dedicated-"),
    Command("taint node n1 bad"),
    Command("describe node n1"),
    Command("apply -f {dir}/pod.yaml"),
    Command("drain n1"),
    Command("drain n1 --force --grace-period=0 --timeout=20s"),
    Command("get pods"),
    Command("drain n1 --dry-run=server --force"),
    # Workloads
    Command("apply -f {dir}/deployment.yaml"),
    Command("get deploy"),
    Command("get deploy -o wide"),
    Command("scale deploy/front --replicas=5"),
    Command("scale deploy/front --replicas=1 --current-replicas=9"),
    Command("get deploy front -o jsonpath={.spec.replicas}/{.metadata.generation}"),
    Command("set image deploy/front main=registry.example/front:2.0"),
    Command("set resources deploy/front --limits=cpu=100m"),
    Command("set env deploy/front A=b"),
    Command("rollout status deploy/front --timeout=1s"),
    Command("rollout pause deploy/front"),
    Command("rollout resume deploy/front"),
    Command("rollout restart deploy/front"),
    Command("rollout history deploy/front"),
    Command("rollout undo deploy/front"),
    Command("describe deploy front"),
    Command("create deployment other --image=registry.example/other:1.0 --replicas=2"),
    Command("create -f {dir}/daemonset.yaml"),
    Command("get ds,controllerrevisions"),
    Command("get controllerrevision agent-abc -o jsonpath={.data}"),
    Command("describe controllerrevision agent-abc"),
    Command("""patch controllerrevision agent-abc -p '{"revision":5}'"""),
    Command("""patch controllerrevision agent-abc -p '{"data":{"which":1}}' --type=merge"""),
    # Nobody keeps the history here, and the one revision is somebody else's.
    Command("rollout history ds/agent"),
    Command("rollout undo ds/agent"),
    Command("rollout undo ds/agent --to-revision=4"),
    Command("delete controllerrevision agent-abc"),
    Command("create job once --image=registry.example/once:1.0 -- echo hello"),
    Command("get jobs"),
    Command("describe job once"),
    Command("delete job once --cascade=orphan --wait=false"),
    Command("create poddisruptionbudget keep --selector=app=front --min-available=1"),
    Command("get pdb"),
    Command("create quota small --hard=pods=5"),
    Command("describe quota small"),
    Command("create priorityclass kubectl-high --value=1000"),
    Command("get pc kubectl-high"),
    Command("get all"),
    Command("delete deploy --all"),
    # Access
    Command("create role reader --verb=get,list --resource=pods"),
    Command("create rolebinding reader --role=reader --user=rita"),
    Command("create clusterrole kubectl-watcher --verb=watch --resource=nodes"),
    Command(
        "create clusterrolebinding kubectl-watcher --clusterrole=kubectl-watcher --group=watchers"
    ),
    Command("get role,rolebinding -o wide"),
    Command("describe role reader"),
    Command("describe rolebinding reader"),
    Command("auth can-i list pods --as=rita"),
    Command("auth can-i delete pods --as=rita"),
    Command("get secrets --as=rita"),
    Command("auth reconcile -f {dir}/map.yaml", shown="exit"),
    # Devices
    Command("apply -f {dir}/devices.yaml"),
    Command("apply -f {dir}/devices.yaml"),
    Command("get deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates"),
    Command("get resourceclaim claim -o yaml"),
    Command(f"patch resourceclaim claim --subresource=status --type=merge -p '{ALLOCATION}'"),
    Command("get resourceclaims -o wide"),
    Command("describe resourceclaim claim"),
    Command("describe resourceslice n1-gpu"),
    Command("get resourceslices --field-selector=spec.nodeName=n1"),
    Command(
        "get resourceclaims.v1beta1.resource.k8s.io claim -o jsonpath={.spec.devices.requests[0]}"
    ),
    Command('patch resourceclaim claim --type=merge -p \'{"spec":{"devices":{"requests":[]}}}\''),
    Command("delete resourceclaim claim"),
    # Custom resources
    Command("create -f {dir}/definition.yaml"),
    Command("wait --for=condition=Established crd/boxes.kubectl.example.com --timeout=20s"),
    Command("wait --for=create crd/boxes.kubectl.example.com --timeout=20s", shown="exit"),
    Command("apply -f {dir}/box.yaml", shown="retry"),
    Command("apply -f {dir}/box.yaml"),
    Command("get boxes"),
    Command("get bx box -o jsonpath={.spec}"),
    Command('patch box box --type=merge -p \'{"spec":{"size":0}}\''),
    Command("explain boxes.spec", shown="fields"),
    Command("delete box box"),
    Command("delete crd boxes.kubectl.example.com"),
    # Explain
    Command("explain resourceclaims", shown="fields"),
    Command("explain resourceclaims.spec.devices.requests.exactly", shown="fields"),
    Command("explain pods.spec.containers.resources", shown="fields"),
    Command("explain resourceslices.spec.devices --recursive", shown="fields"),
    Command("explain deployments.spec.strategy", shown="fields"),
    Command("explain controllerrevisions", shown="fields"),
    Command("explain nothing"),
    Command("explain pods.nothing"),
    # The end
    Command("delete cm one two --dry-run=server"),
    Command("delete cm one two"),
    Command("delete cm -l from=file"),
    Command("delete cm nothing"),
    Command("delete -f {dir}/devices.yaml --ignore-not-found"),
    Command("delete node n1"),
    Command("delete clusterrole,clusterrolebinding kubectl-watcher"),
    Command("delete ns play --wait=false"),
    Command("get ns play --no-headers"),
)
