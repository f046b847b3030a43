package main

import (
	"sort"

	"k8s.io/client-go/kubernetes/fake"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Strategies by kind, then by subresource: what they reset is never owned.
var strategies = func() map[string]map[string]any {
	claims := resourceclaim.NewStrategy(fake.NewClientset().CoreV1().Namespaces(), nil)
	return map[string]map[string]any{
		"ConfigMap":           {"": configmap.Strategy},
		"Deployment":          {"": deployment.Strategy, "status": deployment.StatusStrategy},
		"Namespace":           {"": namespace.Strategy, "status": namespace.StatusStrategy},
		"Node":                {"": node.Strategy, "status": node.StatusStrategy},
		"Pod":                 {"": pod.Strategy, "status": pod.StatusStrategy, "resize": pod.ResizeStrategy, "ephemeralcontainers": pod.EphemeralContainersStrategy},
		"PodDisruptionBudget": {"": poddisruptionbudget.Strategy, "status": poddisruptionbudget.StatusStrategy},
		"ResourceClaim":       {"": claims, "status": resourceclaim.NewStatusStrategy(claims)},
		"ResourceSlice":       {"": resourceslice.Strategy},
	}
}()

type resetter interface {
	GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set
}

type filterer interface {
	GetResetFieldsFilter() map[fieldpath.APIVersion]fieldpath.Filter
}

func resetFilter(kind, subresource string) map[fieldpath.APIVersion]fieldpath.Filter {
	strategy := strategies[kind][subresource]
	if found, ok := strategy.(filterer); ok {
		return found.GetResetFieldsFilter()
	}
	if found, ok := strategy.(resetter); ok {
		return fieldpath.NewExcludeFilterSetMap(found.GetResetFields())
	}
	return nil
}

// resetFieldsOf lists, per subresource and version, the paths a strategy resets.
func resetFieldsOf(kind string) any {
	said := map[string]map[string][]string{}
	for subresource, strategy := range strategies[kind] {
		found, ok := strategy.(resetter)
		if _, filters := strategy.(filterer); !ok || filters {
			continue
		}
		versions := map[string][]string{}
		for version, set := range found.GetResetFields() {
			paths := []string{}
			set.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
			sort.Strings(paths)
			versions[string(version)] = paths
		}
		said[subresource] = versions
	}
	return said
}
