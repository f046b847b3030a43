"""Parts of pods in which two fields must agree, or do not."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from tests.conformance.generate.case import Request
from tests.conformance.generate.mutations import replaced
from tests.conformance.generate.parts import (
    CLAIM,
    DEVICES,
    ENVIRONMENT,
    FILES,
    HANDLERS,
    IN_CONTAINERS,
    IN_SPECS,
    MOUNTS,
    POD_SECURITY,
    PORTS,
    PROBE,
    PROJECTIONS,
    SECURITY,
    SOURCES,
    VOLUMES,
    WINDOWS,
    Part,
    pod,
)


def variants() -> Iterator[tuple[str, Request]]:
    yield "everything", pod(IN_CONTAINERS, **IN_SPECS)
    yield from _volume_variants()
    yield from _container_variants()
    yield from _handler_variants()
    yield from _security_variants()
    yield from _spec_variants()
    yield from _annotation_variants()


def _volume_variants() -> Iterator[tuple[str, Request]]:
    source: Part
    names = list(SOURCES)
    for first, second in zip(names, [*names[1:], names[0]], strict=True):
        volumes = [{"name": "v", first: SOURCES[first], second: SOURCES[second]}]
        yield f"{first} and {second}", pod(volumes=volumes)
    yield "no source", pod(volumes=[{"name": "v"}])
    yield "same name twice", pod(volumes=[*VOLUMES, *VOLUMES])
    yield (
        "mount of a broken volume",
        pod(
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            volumes=[{"name": "v", "secret": {}}],
        ),
    )
    yield (
        "claim of an ephemeral volume",
        pod(
            volumes=[
                {"name": "v", "ephemeral": CLAIM},
                {"name": "w", "persistentVolumeClaim": {"claimName": "pod-v"}},
            ]
        ),
    )
    yield (
        "long claim name",
        replaced(
            pod(volumes=[{"name": "v" * 63, "ephemeral": CLAIM}]),
            ("metadata", "name"),
            "p" * 200,
        ),
    )
    for label, change in (
        ("modes", {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}),
        ("unknown mode", {"accessModes": ["Sometimes"]}),
        ("no storage", {"resources": {}}),
        ("negative storage", {"resources": {"requests": {"storage": "-1"}}}),
        ("elsewhere", {"dataSourceRef": {
            "kind": "PersistentVolumeClaim", "name": "s", "namespace": "n"
        }}),
        ("another source", {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "s"}}),
        ("core kind", {"dataSource": {"kind": "Other", "name": "s"}, "dataSourceRef": None}),
    ):  # fmt: skip
        template = copy.deepcopy(CLAIM)
        template["volumeClaimTemplate"]["spec"].update(change)
        yield f"claim: {label}", pod(volumes=[{"name": "v", "ephemeral": template}])
    named = copy.deepcopy(CLAIM)
    named["volumeClaimTemplate"]["metadata"] = {
        "name": "n", "namespace": "m", "uid": "u", "finalizers": ["f"], "generation": 1,
    }  # fmt: skip
    yield "claim: named", pod(volumes=[{"name": "v", "ephemeral": named}])
    for label, sources in (
        ("two in one", [{**PROJECTIONS[0], **PROJECTIONS[3]}]),
        ("none in one", [{}]),
        ("same paths", [PROJECTIONS[0], PROJECTIONS[0], PROJECTIONS[2], PROJECTIONS[2]]),
        ("same bundles", [PROJECTIONS[4], PROJECTIONS[4]]),
        ("same certificates", [PROJECTIONS[6], PROJECTIONS[6]]),
        ("token without path", [{"serviceAccountToken": {}}]),
        ("short token", [{"serviceAccountToken": {"path": "../t", "expirationSeconds": 1}}]),
        ("long token", [{"serviceAccountToken": {"path": "t", "expirationSeconds": 2**33}}]),
        ("bundle without name", [{"clusterTrustBundle": {"path": "p"}}]),
        ("bundle twice", [{"clusterTrustBundle": {
            "name": "a", "signerName": "b.c/d", "path": "p"
        }}]),
        ("bundle of signer", [{"clusterTrustBundle": {"name": "a.b:c:d", "path": "..p"}}]),
        ("bundle of no signer", [{"clusterTrustBundle": {"name": ":d", "path": "p"}}]),
        ("bundle of strange name", [{"clusterTrustBundle": {"name": "a.b:c:D_", "path": "p"}}]),
        ("bundle empty", [{"clusterTrustBundle": {"name": "", "path": "/p"}}]),
        ("bundle no signer", [{"clusterTrustBundle": {"signerName": "", "path": "p"}}]),
        ("bundle name and labels", [{"clusterTrustBundle": {
            "name": "a", "labelSelector": {"matchLabels": {"a": "b"}}, "path": "p"
        }}]),
        ("certificate bare", [{"podCertificate": {}}]),
        ("certificate of the cluster", [{"podCertificate": {
            "signerName": "kubernetes.io/s", "keyType": "RSA3072",
            "maxExpirationSeconds": 90000, "keyPath": "k",
        }}]),
        ("certificate strange", [{"podCertificate": {
            "signerName": "a.b.c/D.e", "keyType": "RSA1024", "maxExpirationSeconds": 10,
            "keyPath": "..", "userAnnotations": {"plain": "x", "A.B/c": "y"},
        }}]),
        ("certificate for ever", [{"podCertificate": {
            "signerName": "ab/c", "keyType": "RSA4096", "maxExpirationSeconds": 2**31 - 1,
            "keyPath": "k",
        }}]),
        ("signer in parts", [{"podCertificate": {
            "signerName": "a..b/c..d", "keyType": "RSA4096", "keyPath": "k",
        }}]),
    ):  # fmt: skip
        yield f"projected: {label}", pod(volumes=[{"name": "v", "projected": {"sources": sources}}])
    token = [{"name": "v", "projected": {"sources": [PROJECTIONS[3]]}}]
    yield "token without account", pod(volumes=token, serviceAccountName="")
    for path in ("..", "../a", "a/../b", "..a", "/a", "a/..b", "", "a/b", "..a/../b"):
        items = [{"key": "k", "path": path}]
        yield (
            f"path {path!r}",
            pod(volumes=[{"name": "v", "configMap": {"name": "c", "items": items}}]),
        )
        yield f"host path {path!r}", pod(volumes=[{"name": "v", "hostPath": {"path": path}}])
        yield (
            f"directory {path!r}",
            pod(volumes=[{"name": "v", "gitRepo": {"repository": "r", "directory": path}}]),
        )
    for name in ("iqn.2001-04.com.example:a b", "iqn.2001-04.com", "eui.12", "naa.12", "abc",
                 "naa." + "0" * 32, "iqn"):  # fmt: skip
        source = {"targetPortal": "p" * 70, "iqn": name, "lun": 256, "initiatorName": name}
        yield f"initiator {name[:20]!r}", pod(volumes=[{"name": "v", "iscsi": source}])
    for registry in ("h", "h:1", "h:1,", "[::1]:2", "::1", "h:1:2", ":", "[a]b:1", "a]:1"):
        source = {
            "registry": registry,
            "volume": "v",
            "tenant": "t" * 65 if registry == ":" else "",
        }
        yield f"registry {registry!r}", pod(volumes=[{"name": "v", "quobyte": source}])
    for kind, uri in (
        ("Managed", "/subscriptions/x"), ("Managed", "https://x"), ("Shared", "/x"), ("Odd", ""),
    ):  # fmt: skip
        source = {"diskName": "d", "diskURI": uri, "kind": kind}
        yield f"disk {kind} {uri}", pod(volumes=[{"name": "v", "azureDisk": source}])
    for label, source in (
        ("both", {"targetWWNs": ["a"], "wwids": ["b"], "lun": 300}),
        ("without lun", {"targetWWNs": ["a"]}),
        ("ids", {"wwids": ["b"]}),
    ):
        yield f"fc {label}", pod(volumes=[{"name": "v", "fc": source}])
    flocker = {"datasetName": "a/b", "datasetUUID": "u"}
    yield "flocker both", pod(volumes=[{"name": "v", "flocker": flocker}])
    options = {"a.kubernetes.io/b": "c"}
    yield (
        "flex options",
        pod(volumes=[{"name": "v", "flexVolume": {"driver": "d", "options": options}}]),
    )


def _container_variants() -> Iterator[tuple[str, Request]]:
    reference: Part
    for name in ("a--b", "-a", "a-", "1", "a" * 16, "A", "", "a_b", "é"):
        yield f"port name {name!r}", pod({"ports": [{"name": name, "containerPort": 1}]})
    for number in (-1, 0, 1, 65535, 65536):
        yield f"port {number}", pod({"ports": [{"containerPort": number, "hostPort": number}]})
    same = {"ports": [*PORTS, *PORTS]}
    yield "same ports", pod(same)
    two = pod(same)
    two["spec"]["containers"].append({"name": "other", "image": "i", **same})
    two["spec"]["initContainers"] = [
        {"name": "first", "image": "i", **same},
        {"name": "second", "image": "i", "ports": PORTS},
    ]
    yield "same ports in several", two
    for port in (0, 80, 81):
        yield (
            f"host network, host port {port}",
            pod({"ports": [{"containerPort": 80, "hostPort": port}]}, hostNetwork=True),
        )
    for name in ("", "A=B", "A B", "é", "1", ".", "a\tb"):
        yield f"variable {name!r}", pod({"env": [{"name": name, "value": "v"}]})
        yield f"prefix {name!r}", pod({"envFrom": [{"prefix": name, "secretRef": {"name": "s"}}]})
    for label, variable in (
        ("value and source", {"value": "v", "valueFrom": ENVIRONMENT[1]["valueFrom"]}),
        ("no source", {"valueFrom": {}}),
        ("two sources", {"valueFrom": {
            "fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "s", "key": "k"},
        }}),
    ):  # fmt: skip
        yield f"variable: {label}", pod({"env": [{"name": "A", **variable}]})
    for fact in ("metadata.labels", "metadata.labels['a']", "metadata.labels['-']",
                 "metadata.annotations['UP']", "metadata.annotations['']", "metadata.name['a']",
                 "spec.host", "spec.nodeName", "spec.restartPolicy", "status.phase", "other",
                 "['a']", "metadata.uid", "status.hostIPs"):  # fmt: skip
        reference = {"fieldRef": {"fieldPath": fact}}
        yield f"variable of {fact}", pod({"env": [{"name": "A", "valueFrom": reference}]})
        items = [{"path": "p", **reference}]
        yield f"file of {fact}", pod(volumes=[{"name": "v", "downwardAPI": {"items": items}}])
    yield (
        "field of another version",
        pod(
            {
                "env": [
                    {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "x"}}}
                ]
            }
        ),
    )
    for resource in ("limits.cpu", "requests.memory", "limits.ephemeral-storage",
                     "limits.hugepages-2Mi", "limits.pods", ""):  # fmt: skip
        for divisor in ("0", "1", "1m", "1k", "2", "1Ki"):
            reference = {"resource": resource, "divisor": divisor}
            yield (
                f"variable of {resource} by {divisor}",
                pod({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": reference}}]}),
            )
    both = {"path": "p", **FILES[0], "resourceFieldRef": FILES[2]["resourceFieldRef"]}
    yield (
        "file of both",
        pod(volumes=[{"name": "v", "downwardAPI": {"items": [both, {"path": "q"}]}}]),
    )
    for label, sources in (
        ("none", [{}]),
        ("two", [{"configMapRef": {"name": "c"}, "secretRef": {"name": "s"}}]),
        (
            "names",
            [{"configMapRef": {"name": "A"}}, {"secretRef": {"name": "b-"}}, {"secretRef": {}}],
        ),
    ):
        yield f"variables from {label}", pod({"envFrom": sources})
    for name, volumes in (
        ("v", [{"name": "v", "secret": {"secretName": "s"}}]), ("gone", VOLUMES),
    ):  # fmt: skip
        reference = {"fileKeyRef": {"volumeName": name, "path": "p/../q", "key": "K"}}
        variable = {"env": [{"name": "A", "valueFrom": reference}]}
        yield f"variable of a file in {name}", pod(variable, volumes=volumes)
    for label, mounts in (
        ("unknown volume", [{"name": "x", "mountPath": "/x"}]),
        ("same path", [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}]),
        ("both sub paths", [
            {"name": "v", "mountPath": "/x", "subPath": "/a", "subPathExpr": "../b"}
        ]),
        ("bidirectional", [{"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}]),
        ("strange", [{"name": "v", "mountPath": "/x", "mountPropagation": "x",
                      "recursiveReadOnly": "x", "bindMountOptions": ["x", "x"]}]),
        ("writable", [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "IfPossible",
                       "mountPropagation": "HostToContainer"}]),
        ("disabled", [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "Disabled"}]),
        ("device", [{"name": "disk", "mountPath": "/dev/xvda"}]),
        ("colon", [{"name": "v", "mountPath": "a:b"}]),
    ):  # fmt: skip
        yield f"mount: {label}", pod({"volumeMounts": mounts, "volumeDevices": DEVICES})
    image = [{"name": "v", "image": SOURCES["image"]}]
    yield "options of an image", pod({"volumeMounts": [MOUNTS[0]]}, volumes=image)
    for label, devices in (
        ("directory", [{"name": "v", "devicePath": "/d"}]),
        ("unknown", [{"name": "x", "devicePath": "/d"}]),
        ("twice", [*DEVICES, *DEVICES]),
        ("back", [{"name": "disk", "devicePath": "/dev/../x"}]),
        ("bare", [{}]),
    ):
        yield f"device: {label}", pod({"volumeDevices": devices})
    privileged = {"securityContext": {"privileged": True}}
    bidirectional = [{"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}]
    yield "bidirectional, privileged", pod({"volumeMounts": bidirectional, **privileged})


def _handler_variants() -> Iterator[tuple[str, Request]]:
    for when in ("livenessProbe", "readinessProbe", "startupProbe"):
        yield f"{when} bare", pod({when: {}})
        for label, change in (
            ("thresholds", {"successThreshold": 2, "failureThreshold": -1}),
            ("grace", {"terminationGracePeriodSeconds": 0}),
            ("long grace", {"terminationGracePeriodSeconds": 10}),
            ("all handlers", HANDLERS),
            ("http2", {"httpGet": {"port": 1, "protocol": "HTTP2", "host": "h"}}),
        ):
            handler = {"exec": {"command": ["c"]}}
            yield f"{when} {label}", pod({when: PROBE | handler | change})
    for label, action in (
        ("http2 over tls", {"httpGet": {"port": 1, "protocol": "HTTP2", "scheme": "HTTPS"}}),
        ("http3", {"httpGet": {"port": 1, "protocol": "HTTP3"}}),
        ("port name", {"httpGet": {"port": "a--b"}}),
        ("no port", {"tcpSocket": {}}),
        ("header", {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]}}),
        ("grpc mode", {"grpc": {"port": 70000, "mode": "x"}}),
        ("scheme", {"httpGet": {"port": 1, "scheme": "ftp"}}),
    ):
        yield f"probe: {label}", pod({"livenessProbe": PROBE | action})
    for label, lifecycle in (
        ("bare", {}),
        ("no handlers", {"postStart": {}, "preStop": {}}),
        ("all handlers", {"preStop": {**HANDLERS, "sleep": {"seconds": 1}, "grpc": None}}),
        ("sleep", {"preStop": {"sleep": {"seconds": 30}}}),
        ("long sleep", {"preStop": {"sleep": {"seconds": 31}}}),
        ("negative sleep", {"postStart": {"sleep": {"seconds": -1}}}),
        ("signal", {"stopSignal": "SIGUSR1"}),
        ("odd signal", {"stopSignal": "SIGODD"}),
    ):
        yield f"lifecycle: {label}", pod({"lifecycle": lifecycle})
        for system in ("linux", "windows"):
            if "signal" in label:
                yield f"{system} {label}", pod({"lifecycle": lifecycle}, os={"name": system})
    for label, container in (
        ("plain", {}),
        ("sidecar", {"restartPolicy": "Always"}),
    ):
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            first = {"name": "first", "image": "i", **container, name: {}}
            yield f"{label} init container with {name}", pod(initContainers=[first])


def _security_variants() -> Iterator[tuple[str, Request]]:
    context: Part
    for label, context in (
        ("escalation", {"allowPrivilegeEscalation": False, "privileged": True}),
        ("admin", {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}),
        ("profile elsewhere", {"seccompProfile": {"type": "Unconfined", "localhostProfile": "p"}}),
        ("no profile", {
            "seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Localhost"}
        }),
        ("no type", {"seccompProfile": {}, "appArmorProfile": {}}),
        ("padded", {"appArmorProfile": {"type": "Localhost", "localhostProfile": " p "}}),
        ("long", {"appArmorProfile": {"type": "Localhost", "localhostProfile": "p" * 4096}}),
        ("empty", {"appArmorProfile": {"type": "Localhost", "localhostProfile": ""}}),
        ("armor elsewhere", {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "p"}}),
        ("unmasked", {"procMount": "Unmasked"}),
        ("odd mount", {"procMount": "odd"}),
        ("path", {"seccompProfile": {"type": "Localhost", "localhostProfile": "/../p"}}),
    ):  # fmt: skip
        yield f"security: {label}", pod({"securityContext": context})
    unmasked = {"securityContext": {"procMount": "Unmasked"}}
    yield "unmasked without users", pod(unmasked, hostUsers=False)
    for user in ("", "a\\b\\c", "\\u", "d\\", "...", "a b", "a*b", "u" * 105,
                 "d" * 260 + "\\u", "-d\\u", "d_e\\u", ".d\\u"):  # fmt: skip
        options = {"windowsOptions": {"runAsUserName": user}}
        yield f"windows user {user[:12]!r}", pod({"securityContext": options})
    spec = {"windowsOptions": {"gmsaCredentialSpec": "", "gmsaCredentialSpecName": "A_"}}
    yield "windows credentials", pod({"securityContext": spec})
    for label, ours, theirs, network in (
        ("both", True, True, True),
        ("differ", True, False, True),
        ("no network", True, None, False),
        ("container", None, True, True),
    ):
        windows = [{"windowsOptions": {"hostProcess": each}} for each in (ours, theirs)]
        root = pod({"securityContext": windows[1]}, securityContext=windows[0], hostNetwork=network)
        yield f"host process: {label}", root
        root = copy.deepcopy(root)
        root["spec"]["containers"].append({"name": "other", "image": "i"})
        yield f"host process: {label}, another container", root
    for label, context in (
        ("names", {"sysctls": [{"name": "", "value": ""}, {"name": "A", "value": ""},
                               {"name": "a/b", "value": ""}, {"name": "a/b", "value": ""}]}),
        ("net", {"sysctls": [{"name": name, "value": "1"} for name in (
            "net.a", "net/b", "kernel.sem", "kernel.shm_rmid_forced", "fs.mqueue.x", "user.a",
            "net",
        )]}),
        ("groups", {"supplementalGroups": [-1, 2**31], "fsGroup": -1}),
        ("policies", {"supplementalGroupsPolicy": "x", "fsGroupChangePolicy": "x",
                      "seLinuxChangePolicy": "x"}),
        ("mount option", {"seLinuxChangePolicy": "MountOption"}),
    ):  # fmt: skip
        yield f"pod security: {label}", pod(securityContext=context)
        on_host = pod(securityContext=context, hostNetwork=True, hostIPC=True)
        yield f"pod security on host: {label}", on_host
    for system in ("linux", "windows", "other", ""):
        yield (
            f"all of {system}",
            pod(
                {"securityContext": SECURITY | {"windowsOptions": WINDOWS}},
                securityContext=POD_SECURITY | {"windowsOptions": WINDOWS},
                os={"name": system},
                hostUsers=True,
                hostPID=True,
                hostIPC=True,
                shareProcessNamespace=False,
            ),
        )
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        host: Part = {field: True}
        yield f"own users and {field}", pod(hostUsers=False, **host)
    yield "own users and devices", pod({"volumeDevices": DEVICES}, hostUsers=False)


def _spec_variants() -> Iterator[tuple[str, Request]]:
    for address in ("1.2.3.4", "01.2.3.4", "1.2.3", "1.2.3.256", "::1", "::ffff:1.2.3.4",
                    "fe80::1%eth0", "::01.2.3.4", "00001::", "1:2:3:4:5:6:7:8:9", "", "a",
                    "2001:DB8::1", "1.2.3.4 ", "::1.2.3.4", "0:0:0:0:0:0:0:1", "::1::2",
                    "12345::", "0.0.0.00"):  # fmt: skip
        yield f"alias {address!r}", pod(hostAliases=[{"ip": address, "hostnames": ["h"]}])
        yield f"nameserver {address!r}", pod(dnsConfig={"nameservers": [address]})
    for label, config in (
        ("servers", {"nameservers": ["10.0.0.1"] * 4}),
        ("searches", {"searches": ["a"] * 33}),
        ("long searches", {"searches": ["a" * 250] * 9}),
        (
            "odd searches",
            {"searches": [".", "", "A", "a.", "a..b", "-a", "_a", "a_b", "a_", "a" * 254]},
        ),
        ("options", {"options": [{}, {"value": "v"}]}),
    ):
        yield f"dns: {label}", pod(dnsConfig=config)
    policy: Part | None
    for policy in (None, {}, {"nameservers": []}, {"nameservers": ["10.0.0.1"]}):
        yield f"no dns policy with {policy}", pod(dnsPolicy="None", dnsConfig=policy)


def _annotation_variants() -> Iterator[tuple[str, Request]]:
    seccomp = "seccomp.security.alpha.kubernetes.io/pod"
    container_seccomp = "container.seccomp.security.alpha.kubernetes.io/main"
    armor = "container.apparmor.security.beta.kubernetes.io/main"
    profiles = ("runtime/default", "unconfined", "localhost/p", "docker/default", "odd", "",
                "localhost//p")  # fmt: skip
    fields: Sequence[Part] = (
        {},
        {"type": "RuntimeDefault"},
        {"type": "Unconfined"},
        {"type": "Localhost", "localhostProfile": "p"},
        {"type": "Localhost", "localhostProfile": "q"},
    )
    for profile in profiles:
        for field in fields:
            context = {"seccompProfile": field, "appArmorProfile": field} if field else {}
            for key in (seccomp, container_seccomp, armor):
                root = pod({"securityContext": context}, securityContext=context)
                root["metadata"]["annotations"] = {key: profile}
                yield f"{key[:17]} {profile} and {field.get('type')}", root
    root = pod()
    root["metadata"]["annotations"] = {armor.replace("main", "other"): "runtime/default"}
    yield "profile of no container", root
