package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/fake"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
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
	return kind{}, fmt.Errorf("unknown kind %q", name)
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}
