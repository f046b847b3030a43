package main

import (
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	resourceapi "k8s.io/api/resource/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// device is the JSON of resource.k8s.io/v1, with the driver of its slice.
type device struct {
	Driver     string                                                    `json:"driver"`
	Attributes map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

func newFleet(devices []device) (f fleet) {
	adapter := compile("true").Environment.CELTypeAdapter()
	for _, d := range devices {
		f.inputs = append(f.inputs, dracel.Device{Driver: d.Driver, Attributes: d.Attributes, Capacity: d.Capacity})
		f.activations = append(f.activations, activation(adapter, d))
	}
	return f
}

// activation has the same Go types in the same places as what upstream makes
// anew for every evaluation, or it would time something else.
func activation(adapter types.Adapter, d device) map[string]any {
	attributes := map[string]any{}
	for name, attribute := range d.Attributes {
		domain, id := split(string(name), d.Driver)
		members, ok := attributes[domain].(map[string]any)
		if !ok {
			members = map[string]any{}
			attributes[domain] = members
		}
		members[id] = scalar(attribute)
	}
	capacity := map[string]any{}
	for name, amount := range d.Capacity {
		domain, id := split(string(name), d.Driver)
		members, ok := capacity[domain].(map[string]apiservercel.Quantity)
		if !ok {
			members = map[string]apiservercel.Quantity{}
			capacity[domain] = members
		}
		members[id] = apiservercel.Quantity{Quantity: &amount.Value}
	}
	empty := adapter.NativeToValue(map[string]any{})
	return map[string]any{"device": map[string]any{
		"driver":                   d.Driver,
		"allowMultipleAllocations": false,
		"attributes":               byDomain{types.NewStringInterfaceMap(adapter, attributes), empty},
		"capacity":                 byDomain{types.NewStringInterfaceMap(adapter, capacity), empty},
	}}
}

func split(name, driver string) (domain, id string) {
	if before, after, found := strings.Cut(name, "/"); found {
		return before, after
	}
	return driver, name
}

func scalar(attribute resourceapi.DeviceAttribute) any {
	switch {
	case attribute.IntValue != nil:
		return *attribute.IntValue
	case attribute.BoolValue != nil:
		return *attribute.BoolValue
	case attribute.StringValue != nil:
		return *attribute.StringValue
	default:
		return apiservercel.Semver{Version: semver.MustParse(*attribute.VersionValue)}
	}
}

// byDomain answers unknown domains with an empty map.
type byDomain struct {
	traits.Mapper
	empty ref.Val
}

func (m byDomain) Find(key ref.Val) (ref.Val, bool) {
	if value, found := m.Mapper.Find(key); found {
		return value, true
	}
	return m.empty, true
}
