package main

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

type revisionAnswer struct {
	DecodeError string `json:"decodeError,omitempty"`
	// Data is what a revision of the daemon set holds, as text: the order of its members counts.
	Data string `json:"data,omitempty"`
}

// answerRevision writes the patch that keeps the template of a daemon set. The function that does so
// is not exported; the one that compares with its result is, and vouches for ours.
func answerRevision(request json.RawMessage) (any, error) {
	var in struct {
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	object, err := decode(in.Object)
	if err != nil {
		return revisionAnswer{DecodeError: err.Error()}, nil
	}
	defaulted, err := encode(object.object, object.gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	var set appsv1.DaemonSet
	if err := json.Unmarshal(defaulted, &set); err != nil {
		return nil, err
	}
	var template map[string]any
	written, err := json.Marshal(set.Spec.Template)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(written, &template); err != nil {
		return nil, err
	}
	template["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return nil, err
	}
	same, err := daemon.Match(&set, &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, fmt.Errorf("upstream writes another patch than %s", data)
	}
	return revisionAnswer{Data: string(data)}, nil
}
