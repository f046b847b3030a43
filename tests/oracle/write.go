package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// writeRequest is a create, update or status update as it would reach the API server. It serves
// both "validate" and "prepare".
type writeRequest struct {
	Operation string          `json:"operation"`
	Gates     map[string]bool `json:"gates"`
	Object    json.RawMessage `json:"object"`
	Old       json.RawMessage `json:"old"`
	// Authorize is the answer to every granular authorization check; it defaults to yes.
	Authorize *bool `json:"authorize"`
	// Allow, where given, permits only the listed checks, each "verb subresource namespace/name".
	Allow []string `json:"allow"`
	// User is who asks; Node is the node that the user's credentials are bound to.
	User string `json:"user"`
	Node string `json:"node"`
	// Prepare makes "validate" strip and reset fields first, as a real write does.
	Prepare bool `json:"prepare"`
}

// write is a request taken apart: strategies chosen, objects decoded, context filled.
type write struct {
	ctx    context.Context
	kind   kind
	update rest.RESTUpdateStrategy // nil on create
	new    decoded
	old    decoded
}

// errDecode marks a body that the API server would refuse to read.
type errDecode struct{ error }

func (in writeRequest) open() (*write, error) {
	object, err := decode(in.Object)
	if err != nil {
		return nil, errDecode{err}
	}
	kind, err := lookUpKind(object.gvk.Kind, in.authorizer())
	if err != nil {
		return nil, err
	}
	w := &write{kind: kind, new: object}
	info := &request.RequestInfo{
		IsResourceRequest: true,
		Verb:              "update",
		APIPrefix:         "apis",
		APIGroup:          object.gvk.Group,
		APIVersion:        object.gvk.Version,
		Resource:          kind.resource,
	}
	switch in.Operation {
	case "create":
		info.Verb = "create"
	case "update":
		w.update = kind.update
	case "statusUpdate":
		w.update = kind.status
		info.Subresource = "status"
		if kind.status == nil {
			return nil, fmt.Errorf("%s has no status subresource", object.gvk.Kind)
		}
	default:
		return nil, fmt.Errorf("unknown operation %q", in.Operation)
	}
	if w.update != nil {
		if w.old, err = decode(in.Old); err != nil {
			return nil, fmt.Errorf("old object: %w", err)
		}
		if w.old.gvk.Kind != w.new.gvk.Kind {
			return nil, fmt.Errorf("old object is a %s", w.old.gvk.Kind)
		}
	}
	accessor, err := meta.Accessor(object.object)
	if err != nil {
		return nil, err
	}
	info.Name = accessor.GetName()
	if kind.create.NamespaceScoped() {
		info.Namespace = accessor.GetNamespace()
		if info.Namespace == "" {
			info.Namespace = "default"
		}
	}
	ctx := request.WithRequestInfo(context.Background(), info)
	ctx = request.WithNamespace(ctx, info.Namespace)
	w.ctx = request.WithUser(ctx, in.user())
	return w, nil
}

func (in writeRequest) authorizer() authorizer.UnconditionalAuthorizer {
	if in.Allow != nil {
		return permissions(in.Allow)
	}
	return verdict(in.Authorize == nil || *in.Authorize)
}

func (in writeRequest) user() user.Info {
	who := &user.DefaultInfo{Name: in.User}
	if in.User == "" {
		who.Name = "oracle"
	}
	if in.Node != "" {
		who.Extra = map[string][]string{serviceaccount.NodeNameKey: {in.Node}}
	}
	return who
}

// settle does what the API server does to an object's metadata around the strategy: placing it
// in the request's namespace and, on update, carrying over what a client cannot change.
// prepare is called in between, where the strategy's turn is.
func (w *write) settle(prepare func(runtime.Object)) error {
	object, err := meta.Accessor(w.new.object)
	if err != nil {
		return err
	}
	namespace, _ := request.NamespaceFrom(w.ctx)
	expected := rest.ExpectedNamespaceForScope(namespace, w.kind.create.NamespaceScoped())
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(expected, object); err != nil {
		return err
	}
	if w.update == nil {
		prepare(w.new.object)
		return nil
	}
	old, err := meta.Accessor(w.old.object)
	if err != nil {
		return err
	}
	if object.GetResourceVersion() == "" && w.update.AllowUnconditionalUpdate(w.ctx) {
		object.SetResourceVersion(old.GetResourceVersion())
	}
	object.SetGeneration(old.GetGeneration())
	prepare(w.new.object)
	carryOver(object, old)
	return nil
}

func carryOver(object, old metav1.Object) {
	if object.GetUID() == "" {
		object.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		object.SetCreationTimestamp(created)
	}
	if !old.GetDeletionTimestamp().IsZero() {
		object.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if old.GetDeletionGracePeriodSeconds() != nil && object.GetDeletionGracePeriodSeconds() == nil {
		object.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

// prepare runs the strategy's own preparation.
func (w *write) prepare(object runtime.Object) {
	if w.update == nil {
		w.kind.create.PrepareForCreate(w.ctx, object)
		return
	}
	w.update.PrepareForUpdate(w.ctx, object, w.old.object)
}
