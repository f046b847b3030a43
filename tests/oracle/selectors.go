package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

type selectorAnswer struct {
	Error     string  `json:"error,omitempty"`
	Canonical *string `json:"canonical,omitempty"`
	Matches   []bool  `json:"matches,omitempty"`
}

// answerLabelSelector takes a selector in either form: "text" as in a query, or "selector" as in
// an object's field.
func answerLabelSelector(request json.RawMessage) (any, error) {
	var in struct {
		Text     *string               `json:"text"`
		Selector *metav1.LabelSelector `json:"selector"`
		Labels   []map[string]string   `json:"labels"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	var selector labels.Selector
	var err error
	if in.Text != nil {
		selector, err = labels.Parse(*in.Text)
	} else {
		selector, err = metav1.LabelSelectorAsSelector(in.Selector)
	}
	if err != nil {
		return selectorAnswer{Error: err.Error()}, nil
	}
	printed := selector.String()
	result := selectorAnswer{Canonical: &printed}
	for _, set := range in.Labels {
		result.Matches = append(result.Matches, selector.Matches(labels.Set(set)))
	}
	return result, nil
}

func answerFieldSelector(request json.RawMessage) (any, error) {
	var in struct {
		Text   string              `json:"text"`
		Fields []map[string]string `json:"fields"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	selector, err := fields.ParseSelector(in.Text)
	if err != nil {
		return selectorAnswer{Error: err.Error()}, nil
	}
	printed := selector.String()
	result := selectorAnswer{Canonical: &printed}
	for _, set := range in.Fields {
		result.Matches = append(result.Matches, selector.Matches(fields.Set(set)))
	}
	return result, nil
}

type fieldLabelAnswer struct {
	Error string  `json:"error,omitempty"`
	Label *string `json:"label,omitempty"`
	Value *string `json:"value,omitempty"`
}

// answerFieldLabel says whether a kind can be selected by a field, at one of its versions.
func answerFieldLabel(request json.RawMessage) (any, error) {
	var in struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Label      string `json:"label"`
		Value      string `json:"value"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(in.APIVersion, in.Kind)
	label, value, err := legacyscheme.Scheme.ConvertFieldLabel(kind, in.Label, in.Value)
	if err != nil {
		return fieldLabelAnswer{Error: err.Error()}, nil
	}
	return fieldLabelAnswer{Label: &label, Value: &value}, nil
}
