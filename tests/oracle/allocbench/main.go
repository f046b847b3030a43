// Command allocbench times Kubernetes' own allocator of devices, one round per
// command, so that whoever compares it with something else can take turns. It
// reads one JSON object per line on standard input and answers each with one on
// standard output.
//
// "solve" times one case on one node: what the allocator is given, as the API
// writes it. "load" gives a fleet and drops the one before; "empty" has all its
// devices free again, "hold" takes some and "release" gives some back. "pods"
// places pods one after the other and takes what they get, "all" asks about
// every node, "forget" drops compiled expressions, "heap" says how much memory
// is in use. Everything runs on one goroutine.
//
// The features are those that are on by default; the allocator is the one that
// upstream picks for them.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// celCacheEntries is how many expressions the scheduler remembers.
const celCacheEntries = 10

var features = structured.Features{
	AdminAccess:            true,
	ConsumableCapacity:     true,
	DeviceBindingAndStatus: true,
	DeviceTaints:           true,
	PartitionableDevices:   true,
	PrioritizedList:        true,
}

type command struct {
	Operation string                       `json:"operation"`
	Nodes     []*corev1.Node               `json:"nodes"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	// Claims of one pod; with "pods", of each.
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated []deviceName                 `json:"allocated"`
	// Pods to place.
	Pods int `json:"pods"`
	// Repeats of the work within the round.
	Repeats int `json:"repeats"`
}

type answer struct {
	// Nanoseconds that solving the case, placing a pod or asking about all
	// nodes took, on average.
	Nanoseconds float64 `json:"nanoseconds"`
	// Steps are entries into upstream's recursion.
	Steps int64 `json:"steps"`
	// GaveUp says that there was no answer in time.
	GaveUp bool `json:"gaveUp"`
	// Fits is how many nodes, or pods, have a solution.
	Fits int `json:"fits"`
	// Devices that were chosen, in order.
	Devices []deviceName `json:"devices"`
	Bytes   uint64       `json:"bytes"`
}

type server struct {
	deadline time.Duration
	cache    *cel.Cache
	fleet    fleet
}

func newCache() *cel.Cache {
	return cel.NewCache(celCacheEntries, cel.Features{EnableConsumableCapacity: features.ConsumableCapacity})
}

func (s *server) respond(c command) answer {
	switch c.Operation {
	case "solve":
		return s.solve(c)
	case "load":
		s.fleet = newFleet(c)
	case "empty":
		s.fleet.state = newState()
	case "hold":
		for _, name := range c.Allocated {
			s.fleet.state.AllocatedDevices.Insert(name.id())
		}
	case "release":
		for _, name := range c.Allocated {
			s.fleet.state.AllocatedDevices.Delete(name.id())
		}
	case "pods":
		return s.pods(c.Claims, c.Pods)
	case "all":
		return s.all(c.Claims)
	case "forget":
		s.cache = newCache()
	case "heap":
		return s.heap(c.Claims)
	default:
		panic("unknown operation " + c.Operation)
	}
	return answer{}
}

func main() {
	// The scheduler's own deadline for one node is the default.
	deadline := flag.Duration("deadline", 10*time.Second, "when a case is given up")
	flag.Parse()
	s := server{deadline: *deadline, cache: newCache()}
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c command
		if err := json.Unmarshal(line, &c); err != nil {
			panic(err)
		}
		if err := out.Encode(s.respond(c)); err != nil {
			panic(err)
		}
	}
}
