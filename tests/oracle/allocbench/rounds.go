package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// solve makes an allocator and asks it about one node, as often as told or
// until it gives up.
func (s *server) solve(c command) (a answer) {
	state, known := newState(c.Allocated...), classesOf(c.Classes)
	var total time.Duration
	runtime.GC()
	for range c.Repeats {
		ctx, cancel := context.WithTimeout(context.Background(), s.deadline)
		start := time.Now()
		allocator, err := structured.NewAllocator(ctx, features, state, known, c.Slices, s.cache)
		if err != nil {
			panic(err)
		}
		results, err := allocator.Allocate(ctx, c.Nodes[0], c.Claims)
		total += time.Since(start)
		a.Steps = steps(allocator)
		a.GaveUp = ctx.Err() != nil
		cancel()
		if a.GaveUp {
			return a
		}
		if err != nil {
			panic(err)
		}
		a.Devices = chosen(results)
		a.Fits = min(1, len(results))
	}
	a.Nanoseconds = float64(total.Nanoseconds()) / float64(c.Repeats)
	return a
}

// fleet is what the scheduler has in its caches.
type fleet struct {
	nodes   []*corev1.Node
	slices  []*resourceapi.ResourceSlice
	classes classes
	state   structured.AllocatedState
}

func newFleet(c command) fleet {
	return fleet{c.Nodes, c.Slices, classesOf(c.Classes), newState()}
}

func (s *server) allocator() structured.Allocator {
	f := s.fleet
	allocator, err := structured.NewAllocator(context.Background(), features, f.state, f.classes, f.slices, s.cache)
	if err != nil {
		panic(err)
	}
	return allocator
}

func allocate(allocator structured.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim) []resourceapi.AllocationResult {
	results, err := allocator.Allocate(context.Background(), node, claims)
	if err != nil {
		panic(err)
	}
	return results
}

// garbageBytesMax is when garbage is collected after all.
const garbageBytesMax = 4 << 30

// quiet collects garbage now, and then no more until the function it returns is
// called.
func quiet() func() {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(garbageBytesMax)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// pods places pods on the first node that has what they ask for. What one gets
// the next cannot have.
func (s *server) pods(claims []*resourceapi.ResourceClaim, count int) (a answer) {
	var total time.Duration
	defer quiet()()
	for range count {
		start := time.Now()
		found := s.first(claims)
		total += time.Since(start)
		if len(found) == 0 {
			continue
		}
		a.Fits++
		for _, name := range chosen(found) {
			s.fleet.state.AllocatedDevices.Insert(name.id())
			a.Devices = append(a.Devices, name)
		}
	}
	a.Nanoseconds = float64(total.Nanoseconds()) / float64(count)
	return a
}

func (s *server) first(claims []*resourceapi.ResourceClaim) []resourceapi.AllocationResult {
	allocator := s.allocator()
	for _, node := range s.fleet.nodes {
		if results := allocate(allocator, node, claims); len(results) > 0 {
			return results
		}
	}
	return nil
}

// all asks about every node.
func (s *server) all(claims []*resourceapi.ResourceClaim) (a answer) {
	defer quiet()()
	start := time.Now()
	allocator := s.allocator()
	for _, node := range s.fleet.nodes {
		if len(allocate(allocator, node, claims)) > 0 {
			a.Fits++
		}
	}
	a.Nanoseconds = float64(time.Since(start).Nanoseconds())
	return a
}

// heap counts what is alive. With claims, that includes an allocator which was
// asked about every node.
func (s *server) heap(claims []*resourceapi.ResourceClaim) answer {
	var allocator structured.Allocator
	if len(claims) > 0 {
		allocator = s.allocator()
		for _, node := range s.fleet.nodes {
			allocate(allocator, node, claims)
		}
	}
	// What finalizers keep is gone after the second time.
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	runtime.KeepAlive(allocator)
	return answer{Bytes: memory.HeapAlloc}
}
