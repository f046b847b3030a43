package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	quotaadmission "k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
	"k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// world is what exists besides the request: the same objects behind a client and behind informers.
type world struct {
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	objects   []runtime.Object
	quotas    []corev1.ResourceQuota
	classes   []*resourceapi.DeviceClass
}

func newWorld(state []json.RawMessage) (*world, error) {
	made := &world{}
	for _, raw := range state {
		object, err := decodeVersioned(raw)
		if err != nil {
			return nil, err
		}
		made.objects = append(made.objects, object)
	}
	made.client = fake.NewClientset(made.objects...)
	made.informers = informers.NewSharedInformerFactory(made.client, 0)
	return made, nil
}

// fill puts the objects where plugins look; informers exist only once a plugin asked for them.
func (made *world) fill() error {
	for _, object := range made.objects {
		indexer, err := made.indexer(object)
		if err != nil {
			return err
		}
		if indexer != nil {
			if err := indexer.Add(object); err != nil {
				return err
			}
		}
	}
	return nil
}

func (made *world) indexer(object runtime.Object) (cache.Indexer, error) {
	core := made.informers.Core().V1()
	switch typed := object.(type) {
	case *corev1.Namespace:
		return core.Namespaces().Informer().GetIndexer(), nil
	case *corev1.Pod:
		return core.Pods().Informer().GetIndexer(), nil
	case *corev1.Node:
		return core.Nodes().Informer().GetIndexer(), nil
	case *corev1.ServiceAccount:
		return core.ServiceAccounts().Informer().GetIndexer(), nil
	case *corev1.LimitRange:
		return core.LimitRanges().Informer().GetIndexer(), nil
	case *corev1.ResourceQuota:
		made.quotas = append(made.quotas, *typed)
		return nil, nil
	case *schedulingv1.PriorityClass:
		return made.informers.Scheduling().V1().PriorityClasses().Informer().GetIndexer(), nil
	case *resourceapi.ResourceClaim:
		return made.informers.Resource().V1().ResourceClaims().Informer().GetIndexer(), nil
	case *resourceapi.DeviceClass:
		made.classes = append(made.classes, typed)
		return made.informers.Resource().V1().DeviceClasses().Informer().GetIndexer(), nil
	}
	return nil, fmt.Errorf("no informer for %T", object)
}

func (made *world) plugin(name string) (admission.Interface, error) {
	gates := utilfeature.DefaultFeatureGate
	ready := func() bool { return true }
	var found admission.Interface
	switch name {
	case "namespace_lifecycle":
		plugin, err := lifecycle.NewLifecycle(sets.New("default", "kube-system", "kube-public"))
		if err != nil {
			return nil, err
		}
		plugin.SetExternalKubeClientSet(made.client)
		plugin.SetExternalKubeInformerFactory(made.informers)
		plugin.SetReadyFunc(ready)
		found = plugin
	case "limit_ranger":
		plugin, err := limitranger.NewLimitRanger(nil)
		if err != nil {
			return nil, err
		}
		plugin.SetExternalKubeClientSet(made.client)
		plugin.SetExternalKubeInformerFactory(made.informers)
		found = plugin
	case "service_account":
		plugin := serviceaccount.NewServiceAccount()
		plugin.SetExternalKubeClientSet(made.client)
		plugin.SetExternalKubeInformerFactory(made.informers)
		found = plugin
	case "node_restriction":
		plugin := noderestriction.NewPlugin(nodeidentifier.NewDefaultNodeIdentifier())
		plugin.InspectFeatureGates(gates)
		plugin.SetExternalKubeInformerFactory(made.informers)
		plugin.SetUnconditionalAuthorizer(denial{})
		found = plugin
	case "taint_nodes_by_condition":
		found = nodetaint.NewPlugin()
	case "priority":
		plugin := priority.NewPlugin()
		plugin.SetExternalKubeClientSet(made.client)
		plugin.SetExternalKubeInformerFactory(made.informers)
		found = plugin
	case "default_toleration_seconds":
		plugin := defaulttolerationseconds.NewDefaultTolerationSeconds()
		plugin.InspectFeatureGates(gates)
		found = plugin
	case "pod_topology_labels":
		plugin := podtopologylabels.NewPodTopologyPlugin(podtopologylabels.Config{
			Labels: []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"},
		})
		plugin.InspectFeatureGates(gates)
		plugin.SetExternalKubeInformerFactory(made.informers)
		plugin.SetReadyFunc(ready)
		found = plugin
	case "node_declared_features":
		plugin, err := nodedeclaredfeatures.NewPlugin()
		if err != nil {
			return nil, err
		}
		// Off by default, and nothing to see while it is off.
		known := utilfeature.DefaultMutableFeatureGate.DeepCopy()
		if err := known.Set("DRANodeAllocatableResources=true"); err != nil {
			return nil, err
		}
		plugin.InspectFeatureGates(known)
		plugin.SetExternalKubeInformerFactory(made.informers)
		plugin.SetReadyFunc(ready)
		found = plugin
	case "pod_security":
		plugins := admission.NewPlugins()
		podsecurity.Register(plugins)
		plugin, err := plugins.InitPlugin("PodSecurity", nil, made)
		if err != nil {
			return nil, err
		}
		found = plugin
	default:
		return nil, fmt.Errorf("unknown plugin %q", name)
	}
	return found, made.fill()
}

// Initialize gives PodSecurity, which cannot be made otherwise, what it asks for.
func (made *world) Initialize(plugin admission.Interface) {
	if pods, ok := plugin.(*podsecurity.Plugin); ok {
		pods.InspectEffectiveVersion(compatibility.NewEffectiveVersionFromString("1.37", "", ""))
		pods.SetExternalKubeClientSet(made.client)
		pods.SetExternalKubeInformerFactory(made.informers)
		pods.SetReadyFunc(func() bool { return true })
	}
}

// denial is an authorizer that allows nothing beyond what plugins work out for themselves.
type denial struct{}

func (denial) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// evaluator is how upstream measures objects of the request's resource.
func (made *world) evaluator(attributes admission.Attributes) (quota.Evaluator, error) {
	evaluators, err := core.NewEvaluators(nil, made.informers, nil)
	if err != nil {
		return nil, err
	}
	if err := made.fill(); err != nil {
		return nil, err
	}
	// The mapping of device classes hears of them through events, so the informer has to run.
	if len(made.classes) > 0 {
		stop := make(chan struct{})
		made.informers.Start(stop)
		made.informers.WaitForCacheSync(stop)
		handlers := made.informers.Resource().V1().DeviceClasses().Informer()
		registration, err := handlers.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		if err != nil {
			return nil, err
		}
		cache.WaitForCacheSync(stop, registration.HasSynced)
	}
	resource := attributes.GetResource().GroupResource()
	if found := generic.NewRegistry(evaluators).Get(resource); found != nil {
		return found, nil
	}
	return generic.NewObjectCountEvaluator(resource, nil, ""), nil
}

func (made *world) usage(attributes admission.Attributes) (map[string]any, error) {
	evaluator, err := made.evaluator(attributes)
	if err != nil {
		return nil, err
	}
	used, err := evaluator.Usage(attributes.GetObject())
	if err != nil {
		return refusal(err), nil
	}
	return map[string]any{"used": used}, nil
}

func (made *world) charge(attributes admission.Attributes) (map[string]any, error) {
	evaluator, err := made.evaluator(attributes)
	if err != nil {
		return nil, err
	}
	charged, err := quotaadmission.CheckRequest(made.quotas, attributes, evaluator, nil)
	if err != nil {
		return refusal(err), nil
	}
	used := map[string]corev1.ResourceList{}
	for _, quota := range charged {
		used[quota.Name] = quota.Status.Used
	}
	return map[string]any{"used": used}, nil
}
