package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// withGates runs do with feature gates switched, and switches them back. A gate that upstream
// does not know or has locked, or that is on while one it depends on is off, is an error of the
// request.
func withGates(gates map[string]bool, do func() (any, error)) (any, error) {
	gate := utilfeature.DefaultMutableFeatureGate
	known := gate.GetAll()
	for name, value := range gates {
		spec, found := known[featuregate.Feature(name)]
		if !found {
			return nil, fmt.Errorf("unknown feature gate %q", name)
		}
		if spec.LockToDefault && spec.Default != value {
			return nil, fmt.Errorf("feature gate %q is locked to %v", name, spec.Default)
		}
	}
	before := map[string]bool{}
	for name := range gates {
		before[name] = gate.Enabled(featuregate.Feature(name))
	}
	defer func() {
		// A gate left switched would falsify every later answer.
		if err := gate.SetFromMap(before); err != nil {
			panic(err)
		}
	}()
	if err := gate.SetFromMap(gates); err != nil {
		return nil, err
	}
	return do()
}

// answerGates lists the gates this upstream knows, so that a reader can check names and defaults.
func answerGates(json.RawMessage) (any, error) {
	type gate struct {
		Name    string `json:"name"`
		Default bool   `json:"default"`
		Locked  bool   `json:"locked,omitempty"`
		Stage   string `json:"stage,omitempty"`
	}
	var all []gate
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		all = append(all, gate{string(name), spec.Default, spec.LockToDefault, string(spec.PreRelease)})
	}
	slices.SortFunc(all, func(a, b gate) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
