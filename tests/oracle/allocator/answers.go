package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
)

// shareID stands for the random one of every share.
const shareID types.UID = "00000000-0000-0000-0000-000000000000"

var address = regexp.MustCompile(`0x[0-9a-f]{6,}`)

type answer struct {
	Name    string                         `json:"name,omitempty"`
	Results []resourceapi.AllocationResult `json:"results,omitempty"`
	Error   string                         `json:"error,omitempty"`
	// Errors has all texts that were seen, where there is more than one: Go
	// iterates over maps in a random order.
	Errors []string `json:"errors,omitempty"`
	// NodeOnly marks an error that only concerns the node.
	NodeOnly bool `json:"nodeOnly,omitempty"`
	// Timeout marks a case that upstream did not decide in time.
	Timeout       bool   `json:"timeout,omitempty"`
	Panic         string `json:"panic,omitempty"`
	RequestError  string `json:"requestError,omitempty"`
	Unstable      bool   `json:"unstable,omitempty"`
	UpstreamSteps int64  `json:"upstreamSteps,omitempty"`
}

type oracle struct {
	timeout time.Duration
	repeats int
	caches  celCaches
}

func newOracle(timeout time.Duration, repeats int) *oracle {
	structured.EnableAllocators("experimental")
	return &oracle{timeout, repeats, celCaches{}}
}

// shuffled recognizes the errors that come from within an iteration over a map,
// of attributes or of capacities, and may therefore name another one next time.
var shuffled = regexp.MustCompile(`attribute |capacity "`)

// respond decides a case more than once, to see whether upstream agrees with
// itself.
func (o *oracle) respond(line []byte) answer {
	first := o.attempt(line)
	repeats := o.repeats
	switch {
	case first.Timeout || first.Panic != "" || first.RequestError != "":
		return first
	case !shuffled.MatchString(first.Error):
		repeats = 2
	}
	texts := map[string]bool{first.Error: true}
	for range repeats - 1 {
		again := o.attempt(line)
		texts[again.Error] = true
		again.Error, again.UpstreamSteps = first.Error, first.UpstreamSteps
		if again.Timeout || !reflect.DeepEqual(encoded(again), encoded(first)) {
			first.Unstable = true
		}
	}
	if texts[""] && len(texts) > 1 {
		first.Unstable = true
	} else if len(texts) > 1 {
		for text := range texts {
			first.Errors = append(first.Errors, text)
		}
		sort.Strings(first.Errors)
		first.Error = first.Errors[0]
	}
	return first
}

func encoded(a answer) string {
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (o *oracle) attempt(line []byte) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{Panic: fmt.Sprint(r)}
		}
	}()
	c, features, err := decodeCase(line)
	if err != nil {
		return answer{RequestError: err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	allocator, err := structured.NewAllocator(ctx, features, c.state(), classLister(c.Classes), c.Slices, o.caches.of(features))
	if err != nil {
		return answer{RequestError: err.Error()}
	}
	results, err := allocator.Allocate(ctx, c.Node, c.Claims)
	a.UpstreamSteps = steps(allocator)
	if err != nil {
		// An expression that is interrupted has a text of its own.
		if ctx.Err() != nil {
			return answer{Timeout: true, UpstreamSteps: a.UpstreamSteps}
		}
		// Printed Go values have addresses in them.
		a.Error = address.ReplaceAllString(err.Error(), "<address>")
		a.NodeOnly = errors.Is(err, structured.ErrFailedAllocationOnNode)
		return a
	}
	for i := range results {
		for j := range results[i].Devices.Results {
			if result := &results[i].Devices.Results[j]; result.ShareID != nil {
				id := shareID
				result.ShareID = &id
			}
		}
	}
	a.Results = results
	return a
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
