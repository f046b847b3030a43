"""The Kubernetes API over a store: what kubectl, client libraries, drivers and kubelets talk to.

May live here: everything between a socket and a store. `http` is the wire, `auth` says who may,
`admission` what is allowed of an object beyond its own rules, `verbs` what a request does,
`patching` how objects merge, `tables` how they are shown, `openapi` and `discovery` what there is,
`custom` kinds that users define. May not: scheduling, controllers, nodes; they are clients like
any other.

Upstream counterpart: kube-apiserver, apiextensions-apiserver.
"""
