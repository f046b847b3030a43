package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Longer than any answer takes; a watch that stays silent for so long has lost an event.
const patience = 30 * time.Second

const namespace = "it-goclient"

var label = map[string]string{"script": "goclient"}

// client is what every typed client of client-go offers.
type client[T, L runtime.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

func driveKinds(config *rest.Config) {
	clients := kubernetes.NewForConfigOrDie(config)
	prepareNamespace(clients)
	template := core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: label}, Spec: podSpec()}
	selector := &metav1.LabelSelector{MatchLabels: label}
	once := template
	once.Spec.RestartPolicy = core.RestartPolicyNever
	replicas, one := int32(1), intstr.FromInt32(1)
	claim := resource.ResourceClaimSpec{Devices: resource.DeviceClaim{Requests: []resource.DeviceRequest{
		{Name: "r", Exactly: &resource.ExactDeviceRequest{DeviceClassName: "class"}},
	}}}
	subject := rbac.Subject{Kind: "User", APIGroup: rbac.GroupName, Name: "somebody"}
	about := core.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "p"}
	holder := "holder"

	drive("ConfigMap", "v1", clients.CoreV1().ConfigMaps(namespace), &core.ConfigMap{Data: map[string]string{"a": "b"}})
	drive("Secret", "v1", clients.CoreV1().Secrets(namespace), &core.Secret{StringData: map[string]string{"a": "b"}})
	drive("Pod", "v1", clients.CoreV1().Pods(namespace), &core.Pod{Spec: podSpec()})
	drive("ServiceAccount", "v1", clients.CoreV1().ServiceAccounts(namespace), &core.ServiceAccount{})
	drive("Event", "v1", clients.CoreV1().Events(namespace), &core.Event{InvolvedObject: about, Reason: "Test", Type: "Normal"})
	drive("Node", "v1", clients.CoreV1().Nodes(), &core.Node{Spec: core.NodeSpec{Unschedulable: true}})
	drive("ResourceQuota", "v1", clients.CoreV1().ResourceQuotas(namespace), &core.ResourceQuota{Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{"pods": quantity.MustParse("100")}}})
	drive("LimitRange", "v1", clients.CoreV1().LimitRanges(namespace), &core.LimitRange{Spec: core.LimitRangeSpec{Limits: []core.LimitRangeItem{{Type: core.LimitTypePod, Max: core.ResourceList{"cpu": quantity.MustParse("64")}}}}})
	drive("Event", "events.k8s.io/v1", clients.EventsV1().Events(namespace), &events.Event{EventTime: metav1.NowMicro(), ReportingController: "example.com/go", ReportingInstance: "go-1", Action: "Test", Reason: "Test", Regarding: about, Type: "Normal"})
	drive("Lease", "coordination.k8s.io/v1", clients.CoordinationV1().Leases(namespace), &coordination.Lease{Spec: coordination.LeaseSpec{HolderIdentity: &holder}})
	drive("Job", "batch/v1", clients.BatchV1().Jobs(namespace), &batch.Job{Spec: batch.JobSpec{Template: once}})
	drive("Deployment", "apps/v1", clients.AppsV1().Deployments(namespace), &apps.Deployment{Spec: apps.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template}})
	drive("ReplicaSet", "apps/v1", clients.AppsV1().ReplicaSets(namespace), &apps.ReplicaSet{Spec: apps.ReplicaSetSpec{Selector: selector, Template: template}})
	drive("DaemonSet", "apps/v1", clients.AppsV1().DaemonSets(namespace), &apps.DaemonSet{Spec: apps.DaemonSetSpec{Selector: selector, Template: template}})
	drive("ControllerRevision", "apps/v1", clients.AppsV1().ControllerRevisions(namespace), &apps.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"a":1}`)}, Revision: 1})
	drive("PodDisruptionBudget", "policy/v1", clients.PolicyV1().PodDisruptionBudgets(namespace), &policy.PodDisruptionBudget{Spec: policy.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: selector}})
	drive("Role", "rbac.authorization.k8s.io/v1", clients.RbacV1().Roles(namespace), &rbac.Role{Rules: []rbac.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}})
	drive("RoleBinding", "rbac.authorization.k8s.io/v1", clients.RbacV1().RoleBindings(namespace), &rbac.RoleBinding{RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: "r"}, Subjects: []rbac.Subject{subject}})
	drive("ClusterRole", "rbac.authorization.k8s.io/v1", clients.RbacV1().ClusterRoles(), &rbac.ClusterRole{Rules: []rbac.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}}}})
	drive("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", clients.RbacV1().ClusterRoleBindings(), &rbac.ClusterRoleBinding{RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "view"}, Subjects: []rbac.Subject{subject}})
	drive("PriorityClass", "scheduling.k8s.io/v1", clients.SchedulingV1().PriorityClasses(), &scheduling.PriorityClass{Value: 7})
	drive("DeviceClass", "resource.k8s.io/v1", clients.ResourceV1().DeviceClasses(), &resource.DeviceClass{})
	drive("ResourceClaim", "resource.k8s.io/v1", clients.ResourceV1().ResourceClaims(namespace), &resource.ResourceClaim{Spec: claim})
	drive("ResourceClaimTemplate", "resource.k8s.io/v1", clients.ResourceV1().ResourceClaimTemplates(namespace), &resource.ResourceClaimTemplate{Spec: resource.ResourceClaimTemplateSpec{Spec: claim}})
	drive("ResourceSlice", "resource.k8s.io/v1", clients.ResourceV1().ResourceSlices(), &resource.ResourceSlice{Spec: slice()})
	drive("DeviceTaintRule", "resource.k8s.io/v1", clients.ResourceV1().DeviceTaintRules(), &resource.DeviceTaintRule{Spec: resource.DeviceTaintRuleSpec{DeviceSelector: &resource.DeviceTaintSelector{}, Taint: resource.DeviceTaint{Key: "a", Effect: "NoSchedule"}}})
	driveNamespaces(clients)
	driveSubresources(clients)
	elect(clients)
}

func podSpec() core.PodSpec {
	return core.PodSpec{Containers: []core.Container{{Name: "main", Image: "registry.example/app:1.0"}}}
}

func slice() resource.ResourceSliceSpec {
	node := "n1"
	return resource.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node,
		Pool:    resource.ResourcePool{Name: "n1", Generation: 1, ResourceSliceCount: 1},
		Devices: []resource.Device{{Name: "d"}},
	}
}

func prepareNamespace(clients *kubernetes.Clientset) {
	ctx := context.Background()
	space := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil && !errors.IsAlreadyExists(err) {
		fail("cannot create the namespace: %v", err)
	}
	account := &core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := clients.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !errors.IsAlreadyExists(err) {
		fail("cannot create the account: %v", err)
	}
}

// drive takes one kind through everything a typed client can do with it.
func drive[T, L runtime.Object](kind, version string, c client[T, L], sample T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := "goclient-a"
	named := func(name string) T {
		made := sample.DeepCopyObject().(T)
		access(made).SetName(name)
		access(made).SetLabels(label)
		return made
	}
	created, err := c.Create(ctx, named(name), metav1.CreateOptions{FieldManager: "creator"})
	if !expect(err == nil, "%s: create: %v", kind, err) {
		return
	}
	expect(access(created).GetUID() != "" && access(created).GetResourceVersion() != "", "%s: a created object has a uid and a version", kind)
	expect(len(access(created).GetManagedFields()) == 1, "%s: one manager after create, got %v", kind, access(created).GetManagedFields())
	_, err = c.Create(ctx, named(name), metav1.CreateOptions{})
	expect(errors.IsAlreadyExists(err), "%s: create again: %v", kind, err)
	_, err = c.Get(ctx, "goclient-missing", metav1.GetOptions{})
	expect(errors.IsNotFound(err), "%s: get what is missing: %v", kind, err)

	seen, err := c.Watch(ctx, metav1.ListOptions{ResourceVersion: access(created).GetResourceVersion(), FieldSelector: "metadata.name=" + name})
	if !expect(err == nil, "%s: watch: %v", kind, err) {
		return
	}
	var written []string

	updated := created.DeepCopyObject().(T)
	access(updated).SetAnnotations(map[string]string{"by": "update"})
	updated, err = c.Update(ctx, updated, metav1.UpdateOptions{FieldManager: "updater"})
	if !expect(err == nil, "%s: update: %v", kind, err) {
		return
	}
	written = append(written, access(updated).GetResourceVersion())
	stale := created.DeepCopyObject().(T)
	access(stale).SetAnnotations(map[string]string{"by": "nobody"})
	_, err = c.Update(ctx, stale, metav1.UpdateOptions{})
	expect(errors.IsConflict(err), "%s: update from an old version: %v", kind, err)
	same, err := c.Update(ctx, updated, metav1.UpdateOptions{FieldManager: "updater"})
	expect(err == nil && access(same).GetResourceVersion() == access(updated).GetResourceVersion(), "%s: an update of nothing keeps the version: %v", kind, err)

	patches := map[types.PatchType]string{
		types.MergePatchType:          `{"metadata":{"annotations":{"by":"merge"}}}`,
		types.StrategicMergePatchType: `{"metadata":{"annotations":{"by":"strategic"},"finalizers":["example.com/x"]}}`,
		types.JSONPatchType:           `[{"op":"replace","path":"/metadata/annotations/by","value":"json"},{"op":"remove","path":"/metadata/finalizers"}]`,
	}
	for _, sort := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType} {
		patched, err := c.Patch(ctx, name, sort, []byte(patches[sort]), metav1.PatchOptions{FieldManager: "patcher"})
		if expect(err == nil, "%s: %s: %v", kind, sort, err) {
			written = append(written, access(patched).GetResourceVersion())
		}
	}
	apply := func(value string, manager string, force bool) (T, error) {
		body, _ := json.Marshal(map[string]any{
			"apiVersion": version, "kind": kind,
			"metadata": map[string]any{"name": name, "annotations": map[string]string{"applied": value}},
		})
		return c.Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
	}
	applied, err := apply("one", "first", false)
	if expect(err == nil, "%s: apply: %v", kind, err) {
		written = append(written, access(applied).GetResourceVersion())
	}
	again, err := apply("one", "first", false)
	expect(err == nil && access(again).GetResourceVersion() == access(applied).GetResourceVersion(), "%s: apply again: %v", kind, err)
	_, err = apply("two", "second", false)
	expect(errors.IsConflict(err), "%s: apply against another: %v", kind, err)
	applied, err = apply("two", "second", true)
	if expect(err == nil, "%s: apply by force: %v", kind, err) {
		written = append(written, access(applied).GetResourceVersion())
	}
	dry, err := c.Create(ctx, named("goclient-dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	expect(err == nil && access(dry).GetResourceVersion() == "", "%s: a rehearsal stores nothing: %v", kind, err)

	paginate(ctx, kind, c, named)
	wrong := types.UID("00000000-1111-4222-8333-444444444444")
	err = c.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	expect(errors.IsConflict(err), "%s: delete with another uid: %v", kind, err)
	background := metav1.DeletePropagationBackground
	err = c.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	expect(err == nil, "%s: delete: %v", kind, err)
	_, err = c.Get(ctx, name, metav1.GetOptions{})
	expect(errors.IsNotFound(err), "%s: get what was deleted: %v", kind, err)
	checkEvents(kind, seen, written)
}

// paginate lists three more objects in pages and deletes them as a collection.
func paginate[T, L runtime.Object](ctx context.Context, kind string, c client[T, L], named func(string) T) {
	for _, name := range []string{"goclient-b", "goclient-c", "goclient-d"} {
		_, err := c.Create(ctx, named(name), metav1.CreateOptions{})
		expect(err == nil, "%s: create %s: %v", kind, name, err)
	}
	found := map[string]int{}
	options := metav1.ListOptions{LabelSelector: "script=goclient", Limit: 2}
	for pages := 0; pages < 5; pages++ {
		page, err := c.List(ctx, options)
		if !expect(err == nil, "%s: list: %v", kind, err) {
			return
		}
		_ = meta.EachListItem(page, func(item runtime.Object) error {
			found[access(item).GetName()]++
			return nil
		})
		list, _ := meta.ListAccessor(page)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			break
		}
	}
	for _, name := range []string{"goclient-a", "goclient-b", "goclient-c", "goclient-d"} {
		expect(found[name] == 1, "%s: %s is on the pages %d times", kind, name, found[name])
	}
	zero := int64(0)
	background := metav1.DeletePropagationBackground
	err := c.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero, PropagationPolicy: &background},
		metav1.ListOptions{LabelSelector: "script=goclient", FieldSelector: "metadata.name!=goclient-a"})
	expect(err == nil, "%s: delete the others: %v", kind, err)
	left, err := c.List(ctx, metav1.ListOptions{LabelSelector: "script=goclient"})
	expect(err == nil && meta.LenList(left) == 1, "%s: one is left: %v", kind, err)
}

// checkEvents expects the watch to show every written version once, in order, and then the deletion.
func checkEvents(kind string, seen watch.Interface, written []string) {
	defer seen.Stop()
	for _, version := range written {
		select {
		case event := <-seen.ResultChan():
			if !expect(event.Type == watch.Modified, "%s: %s where a change was due: %v", kind, event.Type, event.Object) {
				return
			}
			expect(access(event.Object).GetResourceVersion() == version, "%s: version %s is due, not %s", kind, version, access(event.Object).GetResourceVersion())
		case <-time.After(patience):
			expect(false, "%s: no event for version %s", kind, version)
			return
		}
	}
	for due := true; due; {
		select {
		case event := <-seen.ResultChan():
			// A pod first shows when it is to end, even if that is now.
			due = event.Type == watch.Modified && access(event.Object).GetDeletionTimestamp() != nil
			expect(due || event.Type == watch.Deleted, "%s: %s where the deletion was due", kind, event.Type)
		case <-time.After(patience):
			due = false
			expect(false, "%s: no event for the deletion", kind)
		}
	}
	fmt.Printf("%s ok\n", kind)
}

func access(object runtime.Object) metav1.Object {
	found, err := meta.Accessor(object)
	if err != nil {
		fail("%T has no metadata", object)
	}
	return found
}
