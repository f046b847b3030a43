package main

import (
	"context"
	"fmt"
	"time"

	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyresource "k8s.io/client-go/applyconfigurations/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

// driveNamespaces does what a namespace allows: it has no deletion of collections, and stays until
// its finalizer is gone.
func driveNamespaces(clients *kubernetes.Clientset) {
	ctx := context.Background()
	spaces := clients.CoreV1().Namespaces()
	made, err := spaces.Create(ctx, &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "it-goclient-two"}}, metav1.CreateOptions{})
	if !expect(err == nil, "Namespace: create: %v", err) {
		return
	}
	expect(made.Labels["kubernetes.io/metadata.name"] == made.Name, "Namespace: it is labelled with its name")
	expect(spaces.Delete(ctx, made.Name, metav1.DeleteOptions{}) == nil, "Namespace: delete")
	ending, err := spaces.Get(ctx, made.Name, metav1.GetOptions{})
	if errors.IsNotFound(err) {
		// A server with its own namespace controller may be done already.
		return
	}
	expect(err == nil && ending.Status.Phase == core.NamespaceTerminating, "Namespace: it ends: %v", err)
	fmt.Println("Namespace ok")
}

// driveSubresources does what schedulers, kubelets, drivers and autoscalers do.
func driveSubresources(clients *kubernetes.Clientset) {
	ctx := context.Background()
	pods := clients.CoreV1().Pods(namespace)
	zero := int64(0)
	for _, name := range []string{"bound", "evicted"} {
		_, err := pods.Create(ctx, &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"sub": "yes"}}, Spec: podSpec()}, metav1.CreateOptions{})
		expect(err == nil, "create pod %s: %v", name, err)
		err = pods.Bind(ctx, &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: core.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{})
		expect(err == nil, "bind %s: %v", name, err)
	}
	bound, err := pods.Get(ctx, "bound", metav1.GetOptions{})
	expect(err == nil && bound.Spec.NodeName == "n1", "a bound pod has its node: %v", err)
	bound.Status.Phase = core.PodRunning
	bound, err = pods.UpdateStatus(ctx, bound, metav1.UpdateOptions{})
	expect(err == nil && bound.Status.Phase == core.PodRunning, "update status: %v", err)
	err = pods.EvictV1(ctx, &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted"}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &zero}})
	expect(err == nil, "evict: %v", err)
	_, err = pods.Get(ctx, "evicted", metav1.GetOptions{})
	expect(errors.IsNotFound(err), "an evicted pod is gone: %v", err)
	expect(pods.Delete(ctx, "bound", metav1.DeleteOptions{GracePeriodSeconds: &zero}) == nil, "delete now")

	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "default", &authentication.TokenRequest{}, metav1.CreateOptions{})
	expect(err == nil && token.Status.Token != "", "token: %v", err)
	who, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
	expect(err == nil && who.Status.UserInfo.Username != "", "who am I: %v", err)
	may, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorization.SelfSubjectAccessReview{
		Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorization.ResourceAttributes{Verb: "delete", Resource: "nodes"}},
	}, metav1.CreateOptions{})
	expect(err == nil && may.Status.Allowed, "may I: %v", err)

	deployments := clients.AppsV1().Deployments(namespace)
	labels := map[string]string{"sub": "deployment"}
	_, err = deployments.Create(ctx, &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}, Spec: apps.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
	}}, metav1.CreateOptions{})
	expect(err == nil, "create deployment: %v", err)
	scale, err := deployments.UpdateScale(ctx, "scaled", &autoscaling.Scale{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}, Spec: autoscaling.ScaleSpec{Replicas: 5}}, metav1.UpdateOptions{})
	expect(err == nil && scale.Spec.Replicas == 5, "scale: %v", err)
	expect(deployments.Delete(ctx, "scaled", metav1.DeleteOptions{}) == nil, "delete deployment")
	driveClaim(clients)
	fmt.Println("subresources ok")
}

// driveClaim allocates, reserves, reports and frees a claim, with retries on conflict.
func driveClaim(clients *kubernetes.Clientset) {
	ctx := context.Background()
	claims := clients.ResourceV1().ResourceClaims(namespace)
	_, err := claims.Create(ctx, &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}, Spec: resource.ResourceClaimSpec{Devices: resource.DeviceClaim{Requests: []resource.DeviceRequest{{Name: "r", Exactly: &resource.ExactDeviceRequest{DeviceClassName: "c"}}}}}}, metav1.CreateOptions{})
	expect(err == nil, "create claim: %v", err)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim, err := claims.Get(ctx, "claim", metav1.GetOptions{})
		if err != nil {
			return err
		}
		claim.Status.Allocation = &resource.AllocationResult{Devices: resource.DeviceAllocationResult{Results: []resource.DeviceRequestAllocationResult{{Request: "r", Driver: "gpu.example.com", Pool: "p", Device: "d"}}}}
		claim.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "some-uid"}}
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return err
	})
	expect(err == nil, "allocate: %v", err)
	report := applyresource.ResourceClaim("claim", namespace).WithStatus(applyresource.ResourceClaimStatus().WithDevices(
		applyresource.AllocatedDeviceStatus().WithDriver("gpu.example.com").WithPool("p").WithDevice("d").WithConditions()))
	reported, err := claims.ApplyStatus(ctx, report, metav1.ApplyOptions{FieldManager: "gpu.example.com", Force: true})
	expect(err == nil && len(reported.Status.Devices) == 1, "report: %v", err)
	expect(claims.Delete(ctx, "claim", metav1.DeleteOptions{}) == nil, "delete claim")
}

// elect lets two candidates take turns at one lease.
func elect(clients *kubernetes.Clientset) {
	for _, identity := range []string{"one", "two"} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		led := false
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Name: "election", Namespace: namespace}, Client: clients.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: time.Second, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { led = true; cancel() },
				OnStoppedLeading: func() {},
			},
		})
		expect(led, "candidate %s leads", identity)
	}
	fmt.Println("leader election ok")
}
