package main

import (
	"reflect"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
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

func newState(allocated ...deviceName) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, name := range allocated {
		state.AllocatedDevices.Insert(name.id())
	}
	return state
}

func chosen(results []resourceapi.AllocationResult) []deviceName {
	names := []deviceName{}
	for _, result := range results {
		for _, device := range result.Devices.Results {
			names = append(names, deviceName{device.Driver, device.Pool, device.Device})
		}
	}
	return names
}

// classes finds classes by name, as fast as an informer's lister does.
type classes map[string]*resourceapi.DeviceClass

func classesOf(list []*resourceapi.DeviceClass) classes {
	found := classes{}
	for _, class := range list {
		found[class.Name] = class
	}
	return found
}

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	var list []*resourceapi.DeviceClass
	for _, class := range c {
		list = append(list, class)
	}
	return list, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, errors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}

// steps counts the entries into upstream's recursion. The interface that tells
// is internal to upstream, hence the reflection.
func steps(allocator structured.Allocator) int64 {
	method := reflect.ValueOf(allocator).MethodByName("GetStats")
	if !method.IsValid() {
		return 0
	}
	return method.Call(nil)[0].FieldByName("NumAllocateOneInvocations").Int()
}
