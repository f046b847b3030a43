package main

import (
	"encoding/json"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The one custom kind there is; its schema comes with the question.
var things = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// plain stands in for conversion, creation and defaulting, of which custom resources of one
// version need none.
type plain struct{}

func (plain) Convert(in, out, context any) error { return nil }

func (plain) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (plain) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (plain) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(kind)
	return made, nil
}

func (plain) Default(runtime.Object) {}

func typesOf(openAPI json.RawMessage) (managedfields.TypeConverter, error) {
	var validation apiextensions.JSONSchemaProps
	if err := json.Unmarshal(openAPI, &validation); err != nil {
		return nil, err
	}
	definition := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: things.Group,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: things.Kind, ListKind: "ThingList"},
			Scope: apiextensions.NamespaceScoped,
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: things.Version, Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &validation},
			}},
		},
	}
	built, err := builder.BuildOpenAPIV3(definition, things.Version, builder.Options{})
	if err != nil {
		return nil, err
	}
	static := &spec3.OpenAPI{
		Version:    "3.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "static", Version: "v1"}},
		Components: &spec3.Components{Schemas: models},
	}
	merged, err := builder.MergeSpecsV3(static, built)
	if err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(merged.Components.Schemas, false)
}

func customSequence(asked request) any {
	converter, err := typesOf(asked.Schema)
	if err != nil {
		return map[string]any{"requestError": err.Error()}
	}
	resets := map[string][]fieldpath.Path{
		"":       {fieldpath.MakePathOrDie("status")},
		"status": {fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")},
	}
	var live *unstructured.Unstructured
	said := []map[string]any{}
	for index, step := range asked.Steps {
		recording := &recorder{TypeConverter: converter}
		version := fieldpath.APIVersion(things.GroupVersion().String())
		manager, err := managedfields.NewDefaultCRDFieldManager(
			recording, plain{}, plain{}, plain{}, things, things.GroupVersion(), step.Subresource,
			fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{
				version: fieldpath.NewSet(resets[step.Subresource]...),
			}),
		)
		if err != nil {
			return map[string]any{"requestError": err.Error()}
		}
		told, next, err := takeCustom(step, manager, recording, live)
		if err != nil {
			return map[string]any{"requestError": err.Error()}
		}
		said = append(said, told)
		if next == nil {
			continue
		}
		entries := next.GetManagedFields()
		for i := range entries {
			if entries[i].Time != nil && entries[i].Time.Year() > 2020 {
				entries[i].Time = &metav1.Time{Time: epoch.Add(time.Duration(index) * time.Second)}
			}
		}
		next.SetManagedFields(entries)
		written, err := json.Marshal(entries)
		if err != nil {
			panic(err)
		}
		told["managedFields"] = json.RawMessage(written)
		if live == nil {
			next.SetUID("c0ffee")
			next.SetResourceVersion("1")
			next.SetCreationTimestamp(metav1.Time{Time: epoch})
		}
		live = next
	}
	return map[string]any{"steps": said}
}

func takeCustom(step step, manager *managedfields.FieldManager, recording *recorder, live *unstructured.Unstructured) (map[string]any, *unstructured.Unstructured, error) {
	told := map[string]any{}
	before := live
	if live == nil {
		made, _ := plain{}.New(things)
		before = made.(*unstructured.Unstructured)
	}
	body := []byte(step.Object)
	if step.Verb == "update" {
		encoded, err := json.Marshal(live.Object)
		if err != nil {
			return nil, nil, err
		}
		if body, err = jsonpatch.MergePatch(encoded, body); err != nil {
			return nil, nil, err
		}
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &object.Object); err != nil {
		return nil, nil, err
	}
	if step.Verb == "apply" {
		after, err := manager.Apply(before.DeepCopy(), object, step.Manager, step.Force)
		if err != nil {
			told["error"] = refusal(err)
			return told, nil, nil
		}
		stored := after.(*unstructured.Unstructured).DeepCopy()
		stored.SetManagedFields(nil)
		told["merged"], told["stored"] = recording.merged, stored.Object
		return told, after.(*unstructured.Unstructured), nil
	}
	told["new"] = object.DeepCopy().Object
	after := manager.UpdateNoErrors(before.DeepCopy(), object, step.Manager)
	return told, after.(*unstructured.Unstructured), nil
}
