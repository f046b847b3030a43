package main

import (
	"encoding/json"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/kubernetes/pkg/apis/resource"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"
)

type semverAnswer struct {
	// Rejected holds what validation says about the text as a device's version attribute.
	Rejected []string `json:"rejected,omitempty"`
	// ParseError and Canonical come from the parser that evaluation uses.
	ParseError string  `json:"parseError,omitempty"`
	Canonical  *string `json:"canonical,omitempty"`
	// Compare is set when both texts parse.
	Compare *int `json:"compare,omitempty"`
}

func answerSemver(request json.RawMessage) (any, error) {
	var in struct {
		Text  string  `json:"text"`
		Other *string `json:"other"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	result := semverAnswer{Rejected: versionAttributeErrors(in.Text)}
	parsed, err := semver.Parse(in.Text)
	if err != nil {
		result.ParseError = err.Error()
		return result, nil
	}
	printed := parsed.String()
	result.Canonical = &printed
	if in.Other != nil {
		if other, err := semver.Parse(*in.Other); err == nil {
			order := parsed.Compare(other)
			result.Compare = &order
		}
	}
	return result, nil
}

// versionAttributeErrors asks through a whole ResourceSlice, because upstream exports no smaller
// question. The slice is otherwise valid, so every error is about the version.
func versionAttributeErrors(text string) []string {
	allNodes := true
	slice := &api.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "slice"},
		Spec: api.ResourceSliceSpec{
			Driver:   "driver.example.com",
			Pool:     api.ResourcePool{Name: "pool", ResourceSliceCount: 1},
			AllNodes: &allNodes,
			Devices: []api.Device{{
				Name: "device",
				Attributes: map[api.QualifiedName]api.DeviceAttribute{
					"version": {VersionValue: &text},
				},
			}},
		},
	}
	var messages []string
	for _, err := range resourcevalidation.ValidateResourceSlice(slice) {
		messages = append(messages, string(err.Type)+": "+err.Detail)
	}
	return messages
}
