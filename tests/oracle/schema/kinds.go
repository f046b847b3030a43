package main

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A version is one file of schemas: a Go package and the kinds of it that are wanted.
type version struct {
	group, name string
	pkg         string // the import path of its types
	kinds       []any  // zero values
}

const api, machinery = "k8s.io/api/", "k8s.io/apimachinery/pkg/"

var versions = []version{
	{"core", "v1", api + "core/v1", []any{
		corev1.Binding{}, corev1.ConfigMap{}, corev1.ConfigMapList{}, corev1.Endpoints{}, corev1.EndpointsList{},
		corev1.Event{}, corev1.EventList{}, corev1.LimitRange{}, corev1.LimitRangeList{},
		corev1.Namespace{}, corev1.NamespaceList{}, corev1.Node{}, corev1.NodeList{},
		corev1.PersistentVolume{}, corev1.PersistentVolumeList{},
		corev1.PersistentVolumeClaim{}, corev1.PersistentVolumeClaimList{},
		corev1.Pod{}, corev1.PodList{}, corev1.PodTemplate{}, corev1.PodTemplateList{},
		corev1.ReplicationController{}, corev1.ReplicationControllerList{},
		corev1.ResourceQuota{}, corev1.ResourceQuotaList{}, corev1.Secret{}, corev1.SecretList{},
		corev1.Service{}, corev1.ServiceList{}, corev1.ServiceAccount{}, corev1.ServiceAccountList{},
	}},
	{"meta", "v1", machinery + "apis/meta/v1", []any{
		metav1.APIGroup{}, metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.APIVersions{},
		metav1.DeleteOptions{}, metav1.PartialObjectMetadata{}, metav1.PartialObjectMetadataList{},
		metav1.Status{}, metav1.WatchEvent{},
	}},
	{"apps", "v1", api + "apps/v1", []any{
		appsv1.ControllerRevision{}, appsv1.ControllerRevisionList{}, appsv1.DaemonSet{}, appsv1.DaemonSetList{},
		appsv1.Deployment{}, appsv1.DeploymentList{}, appsv1.ReplicaSet{}, appsv1.ReplicaSetList{},
		appsv1.StatefulSet{}, appsv1.StatefulSetList{},
	}},
	{"authentication.k8s.io", "v1", api + "authentication/v1", []any{
		authenticationv1.SelfSubjectReview{}, authenticationv1.TokenRequest{}, authenticationv1.TokenReview{},
	}},
	{"authorization.k8s.io", "v1", api + "authorization/v1", []any{
		authorizationv1.LocalSubjectAccessReview{}, authorizationv1.SelfSubjectAccessReview{},
		authorizationv1.SelfSubjectRulesReview{}, authorizationv1.SubjectAccessReview{},
	}},
	{"autoscaling", "v1", api + "autoscaling/v1", []any{autoscalingv1.Scale{}}},
	{"batch", "v1", api + "batch/v1", []any{
		batchv1.CronJob{}, batchv1.CronJobList{}, batchv1.Job{}, batchv1.JobList{},
	}},
	{"coordination.k8s.io", "v1", api + "coordination/v1", []any{coordinationv1.Lease{}, coordinationv1.LeaseList{}}},
	{"events.k8s.io", "v1", api + "events/v1", []any{eventsv1.Event{}, eventsv1.EventList{}}},
	{"policy", "v1", api + "policy/v1", []any{
		policyv1.Eviction{}, policyv1.PodDisruptionBudget{}, policyv1.PodDisruptionBudgetList{},
	}},
	{"rbac.authorization.k8s.io", "v1", api + "rbac/v1", []any{
		rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{}, rbacv1.ClusterRoleBindingList{}, rbacv1.ClusterRoleList{},
		rbacv1.Role{}, rbacv1.RoleBinding{}, rbacv1.RoleBindingList{}, rbacv1.RoleList{},
	}},
	{"resource.k8s.io", "v1", api + "resource/v1", []any{
		resourcev1.DeviceClass{}, resourcev1.DeviceClassList{}, resourcev1.DeviceTaintRule{}, resourcev1.DeviceTaintRuleList{},
		resourcev1.ResourceClaim{}, resourcev1.ResourceClaimList{},
		resourcev1.ResourceClaimTemplate{}, resourcev1.ResourceClaimTemplateList{},
		resourcev1.ResourceSlice{}, resourcev1.ResourceSliceList{},
	}},
	{"resource.k8s.io", "v1beta2", api + "resource/v1beta2", []any{
		resourcev1beta2.DeviceClass{}, resourcev1beta2.DeviceClassList{},
		resourcev1beta2.DeviceTaintRule{}, resourcev1beta2.DeviceTaintRuleList{},
		resourcev1beta2.ResourceClaim{}, resourcev1beta2.ResourceClaimList{},
		resourcev1beta2.ResourceClaimTemplate{}, resourcev1beta2.ResourceClaimTemplateList{},
		resourcev1beta2.ResourceSlice{}, resourcev1beta2.ResourceSliceList{},
	}},
	{"resource.k8s.io", "v1beta1", api + "resource/v1beta1", []any{
		resourcev1beta1.DeviceClass{}, resourcev1beta1.DeviceClassList{},
		resourcev1beta1.ResourceClaim{}, resourcev1beta1.ResourceClaimList{},
		resourcev1beta1.ResourceClaimTemplate{}, resourcev1beta1.ResourceClaimTemplateList{},
		resourcev1beta1.ResourceSlice{}, resourcev1beta1.ResourceSliceList{},
	}},
	{"resource.k8s.io", "v1alpha3", api + "resource/v1alpha3", []any{
		resourcev1alpha3.DeviceTaintRule{}, resourcev1alpha3.DeviceTaintRuleList{},
		resourcev1alpha3.ResourcePoolStatusRequest{}, resourcev1alpha3.ResourcePoolStatusRequestList{},
	}},
	{"scheduling.k8s.io", "v1", api + "scheduling/v1", []any{
		schedulingv1.PriorityClass{}, schedulingv1.PriorityClassList{},
	}},
	// No kinds of its own: jobs refer to its types.
	{"scheduling.k8s.io", "v1alpha3", api + "scheduling/v1alpha3", nil},
	{"apiextensions.k8s.io", "v1", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", []any{
		apiextensionsv1.CustomResourceDefinition{}, apiextensionsv1.CustomResourceDefinitionList{},
	}},
}
