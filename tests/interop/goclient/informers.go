package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	objects = 20
	// How often every object is changed before and after the restart.
	rounds = 4
)

// journal keeps, for every object, the versions that an informer told its handler of, in order.
type journal struct {
	sync.Mutex
	versions map[string][]string
	gone     map[string]int
}

func (j *journal) note(object any) {
	j.Lock()
	defer j.Unlock()
	found := access(object.(runtime.Object))
	// A pod first shows when it is to end; its deletion is counted by OnDelete.
	if found.GetDeletionTimestamp() != nil {
		return
	}
	key := fmt.Sprintf("%T/%s", object, found.GetName())
	j.versions[key] = append(j.versions[key], found.GetResourceVersion())
}

func (j *journal) OnAdd(object any, _ bool) { j.note(object) }

func (j *journal) OnUpdate(old, new any) {
	// A relist tells of what it found again; nothing was written then.
	if access(old.(runtime.Object)).GetResourceVersion() != access(new.(runtime.Object)).GetResourceVersion() {
		j.note(new)
	}
}

func (j *journal) OnDelete(object any) {
	j.Lock()
	defer j.Unlock()
	_, unknown := object.(cache.DeletedFinalStateUnknown)
	expect(!unknown, "a deletion was missed")
	if !unknown {
		j.gone[fmt.Sprintf("%T/%s", object, access(object.(runtime.Object)).GetName())]++
	}
}

func (j *journal) told() (count int) {
	j.Lock()
	defer j.Unlock()
	for _, versions := range j.versions {
		count += len(versions)
	}
	for _, times := range j.gone {
		count += times
	}
	return count
}

// driveInformers writes to several kinds while informers watch them, has the server restarted in the
// middle, and expects every version to be told of exactly once, in order.
func driveInformers(config *rest.Config, restart bool) {
	clients := kubernetes.NewForConfigOrDie(config)
	prepareNamespace(clients)
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.LabelSelector = "informers=yes"
	}))
	seen := &journal{versions: map[string][]string{}, gone: map[string]int{}}
	watched := []cache.SharedIndexInformer{
		factory.Core().V1().ConfigMaps().Informer(), factory.Core().V1().Pods().Informer(),
		factory.Resource().V1().ResourceClaims().Informer(), factory.Resource().V1().ResourceSlices().Informer(),
	}
	idle := []cache.SharedIndexInformer{
		factory.Core().V1().Nodes().Informer(), factory.Core().V1().Namespaces().Informer(), factory.Core().V1().Secrets().Informer(),
		factory.Core().V1().Events().Informer(), factory.Core().V1().ServiceAccounts().Informer(), factory.Apps().V1().Deployments().Informer(),
		factory.Apps().V1().ReplicaSets().Informer(), factory.Apps().V1().DaemonSets().Informer(), factory.Apps().V1().ControllerRevisions().Informer(), factory.Batch().V1().Jobs().Informer(),
		factory.Policy().V1().PodDisruptionBudgets().Informer(), factory.Coordination().V1().Leases().Informer(),
		factory.Rbac().V1().Roles().Informer(), factory.Rbac().V1().ClusterRoles().Informer(), factory.Scheduling().V1().PriorityClasses().Informer(),
		factory.Resource().V1().DeviceClasses().Informer(), factory.Resource().V1().ResourceClaimTemplates().Informer(),
		factory.Resource().V1().DeviceTaintRules().Informer(),
	}
	for _, informer := range watched {
		if _, err := informer.AddEventHandler(seen); err != nil {
			fail("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.Start(ctx.Done())
	limit, done := context.WithTimeout(ctx, patience)
	defer done()
	for _, informer := range append(watched, idle...) {
		expect(cache.WaitForCacheSync(limit.Done(), informer.HasSynced), "an informer did not sync")
	}
	fmt.Println("informers synced")

	written := map[string][]string{}
	total := 0
	note := func(object runtime.Object, err error) {
		if expect(err == nil, "write: %v", err) {
			key := fmt.Sprintf("%T/%s", object, access(object).GetName())
			written[key] = append(written[key], access(object).GetResourceVersion())
			total++
		}
	}
	mark := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"informers": "yes"}}
	}
	maps, pods := clients.CoreV1().ConfigMaps(namespace), clients.CoreV1().Pods(namespace)
	claims, slices := clients.ResourceV1().ResourceClaims(namespace), clients.ResourceV1().ResourceSlices()
	claim := resource.ResourceClaimSpec{Devices: resource.DeviceClaim{Requests: []resource.DeviceRequest{{Name: "r", Exactly: &resource.ExactDeviceRequest{DeviceClassName: "c"}}}}}
	name := func(index int) string { return fmt.Sprintf("informed-%02d", index) }
	for index := range objects {
		configMap, err := maps.Create(ctx, &core.ConfigMap{ObjectMeta: mark(name(index))}, metav1.CreateOptions{})
		note(configMap, err)
		pod, err := pods.Create(ctx, &core.Pod{ObjectMeta: mark(name(index)), Spec: podSpec()}, metav1.CreateOptions{})
		note(pod, err)
		resourceClaim, err := claims.Create(ctx, &resource.ResourceClaim{ObjectMeta: mark(name(index)), Spec: claim}, metav1.CreateOptions{})
		note(resourceClaim, err)
		resourceSlice, err := slices.Create(ctx, &resource.ResourceSlice{ObjectMeta: mark(name(index)), Spec: slice()}, metav1.CreateOptions{})
		note(resourceSlice, err)
	}
	change := func(round int) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"round":"%d"}}}`, round)
		for index := range objects {
			configMap, err := maps.Patch(ctx, name(index), "application/merge-patch+json", patch, metav1.PatchOptions{})
			note(configMap, err)
			pod, err := pods.Patch(ctx, name(index), "application/strategic-merge-patch+json", patch, metav1.PatchOptions{})
			note(pod, err)
			resourceClaim, err := claims.Patch(ctx, name(index), "application/merge-patch+json", patch, metav1.PatchOptions{})
			note(resourceClaim, err)
			resourceSlice, err := slices.Patch(ctx, name(index), "application/merge-patch+json", patch, metav1.PatchOptions{})
			note(resourceSlice, err)
		}
	}
	for round := range rounds {
		change(round)
	}
	await(seen, total)
	if restart {
		// Whoever started this program restarts the server and says so by a line.
		fmt.Println("RESTART")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		// An informer may have to list again after a restart, and what is written before that merges
		// into one. It is back when it tells of something new.
		probe := mark("probe")
		_, err := maps.Create(ctx, &core.ConfigMap{ObjectMeta: probe}, metav1.CreateOptions{})
		expect(err == nil, "write after the restart: %v", err)
		_, err = pods.Create(ctx, &core.Pod{ObjectMeta: probe, Spec: podSpec()}, metav1.CreateOptions{})
		expect(err == nil, "write after the restart: %v", err)
		_, err = claims.Create(ctx, &resource.ResourceClaim{ObjectMeta: probe, Spec: claim}, metav1.CreateOptions{})
		expect(err == nil, "write after the restart: %v", err)
		_, err = slices.Create(ctx, &resource.ResourceSlice{ObjectMeta: probe, Spec: slice()}, metav1.CreateOptions{})
		expect(err == nil, "write after the restart: %v", err)
		total += 4
		await(seen, total)
	}
	for round := range rounds {
		change(rounds + round)
	}
	await(seen, total)
	zero := int64(0)
	for index := range objects {
		options := metav1.DeleteOptions{GracePeriodSeconds: &zero}
		expect(maps.Delete(ctx, name(index), options) == nil, "delete map")
		expect(pods.Delete(ctx, name(index), options) == nil, "delete pod")
		expect(claims.Delete(ctx, name(index), options) == nil, "delete claim")
		expect(slices.Delete(ctx, name(index), options) == nil, "delete slice")
		total += 4
	}
	await(seen, total)
	// Whatever comes now came twice.
	time.Sleep(time.Second)
	seen.Lock()
	defer seen.Unlock()
	for key, versions := range written {
		expect(fmt.Sprint(seen.versions[key]) == fmt.Sprint(versions), "%s: wrote %v, told of %v", key, versions, seen.versions[key])
		expect(seen.gone[key] == 1, "%s: told %d times of its deletion", key, seen.gone[key])
	}
	fmt.Printf("%d events, each told once\n", total)
}

func await(seen *journal, total int) {
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if seen.told() >= total {
			return
		}
	}
	expect(false, "told of %d events where %d were due", seen.told(), total)
}
