package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type deviceName struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

func (n deviceName) id() structured.DeviceID {
	return structured.MakeDeviceID(n.Driver, n.Pool, n.Device)
}

type shareName struct {
	deviceName
	ShareID types.UID `json:"shareID"`
}

type consumption struct {
	deviceName
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity"`
}

type testCase struct {
	Features  []string                     `json:"features"`
	Node      *corev1.Node                 `json:"node"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated []deviceName                 `json:"allocated"`
	Shared    []shareName                  `json:"shared"`
	Consumed  []consumption                `json:"consumed"`
}

// decodeCase reads a case anew. Every attempt gets its own: quantities remember
// their text once it was asked for, and some comparisons look at that.
func decodeCase(line []byte) (*testCase, structured.Features, error) {
	c := &testCase{}
	var features structured.Features
	if err := json.Unmarshal(line, c); err != nil {
		return nil, features, err
	}
	switches := map[string]*bool{
		"DRAAdminAccess":               &features.AdminAccess,
		"DRAConsumableCapacity":        &features.ConsumableCapacity,
		"DRADerivedAttributes":         &features.DerivedAttributes,
		"DRADeviceBindingConditions":   &features.DeviceBindingAndStatus,
		"DRADeviceCompatibilityGroups": &features.CompatibilityGroups,
		"DRADeviceTaints":              &features.DeviceTaints,
		"DRAFractionalCapacityRange":   &features.FractionalCapacityRange,
		"DRAListTypeAttributes":        &features.ListTypeAttributes,
		"DRAOptionalNodeOperations":    &features.OptionalNodeOperations,
		"DRAPartitionableDevices":      &features.PartitionableDevices,
		"DRAPrioritizedList":           &features.PrioritizedList,
	}
	for _, name := range c.Features {
		on, known := switches[name]
		if !known {
			return nil, features, fmt.Errorf("unknown feature %q", name)
		}
		*on = true
	}
	return c, features, nil
}

func (c *testCase) state() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, name := range c.Allocated {
		state.AllocatedDevices.Insert(name.id())
	}
	for _, share := range c.Shared {
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(share.id(), &share.ShareID))
	}
	for _, consumed := range c.Consumed {
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(consumed.id(), consumed.Capacity))
	}
	return state
}

// classLister finds classes by name and fails as an informer's lister does.
type classLister []*resourceapi.DeviceClass

func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	return l, nil
}

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range l {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, errors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}

// celCaches has a cache for each environment an expression can be compiled in,
// because making the environment takes longer than deciding a case.
type celCaches map[cel.Features]*cel.Cache

const celCacheEntries = 1000

func (c celCaches) of(features structured.Features) *cel.Cache {
	// The same gates as in the scheduler.
	key := cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity,
		EnableListTypeAttributes: features.ListTypeAttributes,
	}
	if c[key] == nil {
		c[key] = cel.NewCache(celCacheEntries, key)
	}
	return c[key]
}
