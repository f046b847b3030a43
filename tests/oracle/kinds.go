package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	corenamespace "k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
)

// kind says how the API server treats one kind of object. status is nil where the kind has no
// such subresource.
type kind struct {
	resource string
	create   rest.RESTCreateStrategy
	update   rest.RESTUpdateStrategy
	status   rest.RESTUpdateStrategy
}

// lookUpKind builds the strategies anew for each request, because whether the caller is
// authorized is part of the request.
func lookUpKind(name string, who authorizer.UnconditionalAuthorizer) (kind, error) {
	namespaces := fake.NewClientset(
		namespace("default", nil),
		namespace("admin", map[string]string{"resource.kubernetes.io/admin-access": "true"}),
	).CoreV1().Namespaces()
	claims := resourceclaim.NewStrategy(namespaces, who)
	templates := resourceclaimtemplate.NewStrategy(namespaces)

	switch name {
	case "DeviceClass":
		return kind{"deviceclasses", deviceclass.Strategy, deviceclass.Strategy, nil}, nil
	case "ResourceClaim":
		return kind{"resourceclaims", claims, claims, resourceclaim.NewStatusStrategy(claims)}, nil
	case "ResourceClaimTemplate":
		return kind{"resourceclaimtemplates", templates, templates, nil}, nil
	case "ResourceSlice":
		return kind{"resourceslices", resourceslice.Strategy, resourceslice.Strategy, nil}, nil
	case "DeviceTaintRule":
		return kind{
			"devicetaintrules",
			devicetaintrule.Strategy, devicetaintrule.Strategy, devicetaintrule.StatusStrategy,
		}, nil
	case "ResourcePoolStatusRequest":
		return kind{
			"resourcepoolstatusrequests",
			resourcepoolstatusrequest.Strategy, resourcepoolstatusrequest.Strategy,
			resourcepoolstatusrequest.StatusStrategy,
		}, nil
	case "Pod":
		return kind{"pods", pod.Strategy, pod.Strategy, pod.StatusStrategy}, nil
	}
	if found, known := otherKinds[name]; known {
		return found, nil
	}
	return kind{}, fmt.Errorf("unknown kind %q", name)
}

// otherKinds are those whose strategies ask nobody. Both groups that have events share one.
var otherKinds = map[string]kind{
	"Deployment":  {"deployments", deployment.Strategy, deployment.Strategy, deployment.StatusStrategy},
	"ReplicaSet":  {"replicasets", replicaset.Strategy, replicaset.Strategy, replicaset.StatusStrategy},
	"DaemonSet":   {"daemonsets", daemonset.Strategy, daemonset.Strategy, daemonset.StatusStrategy},
	"Job":         {"jobs", job.Strategy, job.Strategy, job.StatusStrategy},
	"Lease":       {"leases", lease.Strategy, lease.Strategy, nil},
	"ConfigMap":   {"configmaps", configmap.Strategy, configmap.Strategy, nil},
	"Event":       {"events", event.Strategy, event.Strategy, nil},
	"LimitRange":  {"limitranges", limitrange.Strategy, limitrange.Strategy, nil},
	"Node":        {"nodes", node.Strategy, node.Strategy, node.StatusStrategy},
	"Secret":      {"secrets", secret.Strategy, secret.Strategy, nil},
	"Role":        {"roles", role.Strategy, role.Strategy, nil},
	"RoleBinding": {"rolebindings", rolebinding.Strategy, rolebinding.Strategy, nil},
	"ControllerRevision": {
		"controllerrevisions", controllerrevision.Strategy, controllerrevision.Strategy, nil,
	},
	"CustomResourceDefinition": {
		"customresourcedefinitions",
		customresourcedefinition.NewStrategy(legacyscheme.Scheme),
		customresourcedefinition.NewStrategy(legacyscheme.Scheme),
		customresourcedefinition.NewStatusStrategy(legacyscheme.Scheme),
	},
	"ClusterRole": {"clusterroles", clusterrole.Strategy, clusterrole.Strategy, nil},
	"ClusterRoleBinding": {
		"clusterrolebindings", clusterrolebinding.Strategy, clusterrolebinding.Strategy, nil,
	},
	"Namespace": {
		"namespaces",
		corenamespace.Strategy, corenamespace.Strategy, corenamespace.StatusStrategy,
	},
	"PodDisruptionBudget": {
		"poddisruptionbudgets",
		poddisruptionbudget.Strategy, poddisruptionbudget.Strategy,
		poddisruptionbudget.StatusStrategy,
	},
	"PriorityClass": {"priorityclasses", priorityclass.Strategy, priorityclass.Strategy, nil},
	"ResourceQuota": {
		"resourcequotas",
		resourcequota.Strategy, resourcequota.Strategy, resourcequota.StatusStrategy,
	},
	"ServiceAccount": {"serviceaccounts", serviceaccount.Strategy, serviceaccount.Strategy, nil},
}

func init() {
	// Upstream serves definitions from a server of their own, which has a scheme of its own.
	extensions.Install(legacyscheme.Scheme)
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}
