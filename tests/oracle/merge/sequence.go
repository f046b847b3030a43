package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder3"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The answer to a step has no live object: it is what the step before left, unless this one speaks
// another version. An update leaves its new object, an apply what it says is stored.

// step is one write. Its object is a whole one (create, put, apply) or a merge patch of the stored
// one (update). An apiVersion of its own makes the step a request at that version.
type step struct {
	Verb        string          `json:"verb"`
	APIVersion  string          `json:"apiVersion"`
	Subresource string          `json:"subresource"`
	Manager     string          `json:"manager"`
	Force       bool            `json:"force"`
	Object      json.RawMessage `json:"object"`
}

// Upstream reads its clock. Steps happen a second apart long before that, so that a time of ours is
// known from one of the clock.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

var models = func() map[string]*spec.Schema {
	names := openapi.NewDefinitionNamer(legacyscheme.Scheme)
	config := &openapicommon.OpenAPIV3Config{
		Info:              &spec.Info{},
		GetDefinitions:    generated.GetOpenAPIDefinitions,
		GetDefinitionName: names.GetDefinitionName,
	}
	config.Definitions = config.GetDefinitions(func(name string) spec.Ref {
		defined, _ := config.GetDefinitionName(name)
		return spec.MustCreateRef("#/components/schemas/" + openapicommon.EscapeJsonPointer(defined))
	})
	resources := []string{}
	for name := range config.Definitions {
		if _, known := strategies[name[strings.LastIndex(name, ".")+1:]]; known && strings.Contains(name, ".api.") {
			resources = append(resources, name)
		}
	}
	built, err := builder3.BuildOpenAPIDefinitionsForResources(config, resources...)
	if err != nil {
		panic(err)
	}
	return built
}()

var types = func() managedfields.TypeConverter {
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		panic(err)
	}
	return converter
}()

// recorder remembers the last object that merging made, before it is decoded and defaulted.
type recorder struct {
	managedfields.TypeConverter
	merged any
}

func (r *recorder) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	object, err := r.TypeConverter.TypedToObject(value)
	if made, ok := object.(*unstructured.Unstructured); ok && err == nil {
		copied := made.DeepCopy()
		copied.SetManagedFields(nil)
		r.merged = copied.Object
	}
	return object, err
}

func sequence(asked request) any {
	var live runtime.Object // internal
	said := []map[string]any{}
	version := ""
	for index, step := range asked.Steps {
		if step.APIVersion == "" {
			step.APIVersion = asked.APIVersion
		}
		next, told := take(step, asked.Kind, live, epoch.Add(time.Duration(index)*time.Second))
		if live != nil && step.APIVersion != version {
			told["live"] = versioned(live, schema.FromAPIVersionAndKind(step.APIVersion, asked.Kind))
		}
		version = step.APIVersion
		if next != nil {
			live = next
		}
		said = append(said, told)
	}
	return map[string]any{"steps": said}
}

func take(step step, kind string, live runtime.Object, now time.Time) (runtime.Object, map[string]any) {
	told := map[string]any{}
	scheme := legacyscheme.Scheme
	gvk := schema.FromAPIVersionAndKind(step.APIVersion, kind)
	hub := schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal}
	converter := &recorder{TypeConverter: types}
	manager, err := managedfields.NewDefaultFieldManager(
		converter, runtime.UnsafeObjectConvertor(scheme), scheme, scheme, gvk, hub,
		step.Subresource, resetFilter(kind, step.Subresource),
	)
	if err != nil {
		return nil, map[string]any{"requestError": err.Error()}
	}
	before := live
	if live == nil {
		if before, err = scheme.New(gvk); err != nil {
			return nil, map[string]any{"requestError": err.Error()}
		}
	}
	var after runtime.Object
	if step.Verb == "apply" {
		applied := &unstructured.Unstructured{Object: map[string]any{}}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(step.Object, &applied.Object); err != nil {
			return nil, map[string]any{"requestError": err.Error()}
		}
		after, err = manager.Apply(before.DeepCopyObject(), applied, step.Manager, step.Force)
		if err != nil {
			told["error"] = refusal(err)
			return nil, told
		}
		told["merged"] = converter.merged
		stored := versioned(after, gvk)
		delete(stored["metadata"].(map[string]any), "managedFields")
		told["stored"] = stored
	} else {
		body := step.Object
		if step.Verb == "update" {
			encoded, _ := json.Marshal(versioned(live, gvk))
			if body, err = jsonpatch.MergePatch(encoded, body); err != nil {
				return nil, map[string]any{"requestError": err.Error()}
			}
		}
		decoded, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(body, &gvk, nil)
		if err != nil {
			return nil, map[string]any{"requestError": err.Error()}
		}
		scheme.Default(decoded)
		internal, err := scheme.ConvertToVersion(decoded, hub)
		if err != nil {
			return nil, map[string]any{"requestError": err.Error()}
		}
		told["new"] = versioned(internal, gvk)
		after = manager.UpdateNoErrors(before.DeepCopyObject(), internal, step.Manager)
	}
	if after, err = scheme.ConvertToVersion(after, hub); err != nil {
		panic(err)
	}
	accessor, err := meta.Accessor(after)
	if err != nil {
		panic(err)
	}
	entries := accessor.GetManagedFields()
	for i := range entries {
		if entries[i].Time != nil && entries[i].Time.Year() > 2020 {
			entries[i].Time = &metav1.Time{Time: now}
		}
	}
	accessor.SetManagedFields(entries)
	// As upstream writes them: the order inside a set is part of the answer.
	written, err := json.Marshal(entries)
	if err != nil {
		panic(err)
	}
	told["managedFields"] = json.RawMessage(written)
	if live == nil {
		accessor.SetUID("c0ffee")
		accessor.SetResourceVersion("1")
		accessor.SetCreationTimestamp(metav1.Time{Time: epoch})
	}
	return after, told
}

func versioned(object runtime.Object, gvk schema.GroupVersionKind) map[string]any {
	converted, err := legacyscheme.Scheme.ConvertToVersion(object, gvk.GroupVersion())
	if err != nil {
		panic(err)
	}
	encoded, err := json.Marshal(converted)
	if err != nil {
		panic(err)
	}
	plain := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, &plain); err != nil {
		panic(err)
	}
	return plain
}

func refusal(err error) map[string]any {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		told := status.Status()
		said := map[string]any{"code": told.Code, "reason": told.Reason, "message": told.Message}
		if told.Details != nil {
			said["causes"] = told.Details.Causes
		}
		return said
	}
	return map[string]any{"code": 500, "message": fmt.Sprint(err)}
}
