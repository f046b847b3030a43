package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
)

// question is one request in one world.
type question struct {
	Plugin string            `json:"plugin"`
	State  []json.RawMessage `json:"state"`

	Operation   string          `json:"operation"`
	Group       string          `json:"group"`
	Version     string          `json:"version"`
	Resource    string          `json:"resource"`
	Subresource string          `json:"subresource"`
	Kind        string          `json:"kind"`
	Namespace   string          `json:"namespace"`
	Name        string          `json:"name"`
	User        string          `json:"user"`
	Groups      []string        `json:"groups"`
	Object      json.RawMessage `json:"object"`
	Old         json.RawMessage `json:"old"`
}

func ask(asked question) (map[string]any, error) {
	world, err := newWorld(asked.State)
	if err != nil {
		return nil, err
	}
	attributes, err := asked.attributes()
	if err != nil {
		return nil, err
	}
	if asked.Plugin == "usage" {
		return world.usage(attributes)
	}
	if asked.Plugin == "quota" {
		return world.charge(attributes)
	}
	plugin, err := world.plugin(asked.Plugin)
	if err != nil {
		return nil, err
	}
	told := &warnings{}
	ctx := warning.WithWarningRecorder(context.Background(), told)
	if plugin.Handles(attributes.GetOperation()) {
		if mutator, ok := plugin.(admission.MutationInterface); ok {
			if err := mutator.Admit(ctx, attributes, nil); err != nil {
				return refusal(err), nil
			}
		}
		if validator, ok := plugin.(admission.ValidationInterface); ok {
			if err := validator.Validate(ctx, attributes, nil); err != nil {
				return refusal(err), nil
			}
		}
	}
	answer := map[string]any{"admitted": true}
	if len(*told) > 0 {
		answer["warnings"] = *told
	}
	if _, mutates := plugin.(admission.MutationInterface); mutates && attributes.GetObject() != nil {
		object, err := asked.encode(attributes.GetObject())
		if err != nil {
			return nil, err
		}
		answer["object"] = object
	}
	return answer, nil
}

// warnings keeps what a client would be told beside the answer.
type warnings []string

func (told *warnings) AddWarning(_, text string) {
	*told = append(*told, text)
}

func (asked question) attributes() (admission.Attributes, error) {
	object, err := decode(asked.Object)
	if err != nil {
		return nil, err
	}
	old, err := decode(asked.Old)
	if err != nil {
		return nil, err
	}
	return admission.NewAttributesRecord(
		object, old,
		schema.GroupVersionKind{Group: asked.Group, Version: asked.Version, Kind: asked.Kind},
		asked.Namespace, asked.Name,
		schema.GroupVersionResource{Group: asked.Group, Version: asked.Version, Resource: asked.Resource},
		asked.Subresource,
		admission.Operation(asked.Operation),
		&metav1.CreateOptions{}, false,
		&user.DefaultInfo{Name: asked.User, Groups: asked.Groups},
	), nil
}

// decode gives the internal object, defaulted, as a server has it when admission starts.
func decode(raw json.RawMessage) (runtime.Object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), raw)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return object, nil
}

// decodeVersioned gives the object as informers hold it: defaulted, for it was stored.
func decodeVersioned(raw json.RawMessage) (runtime.Object, error) {
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDeserializer(), raw)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	legacyscheme.Scheme.Default(object)
	return object, nil
}

func (asked question) encode(object runtime.Object) (json.RawMessage, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(asked.Object, &head); err != nil {
		return nil, err
	}
	version, err := schema.ParseGroupVersion(head.APIVersion)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(legacyscheme.Codecs.LegacyCodec(version), object)
}

func refusal(err error) map[string]any {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return map[string]any{"refused": status.Status()}
	}
	return map[string]any{"error": err.Error()}
}
