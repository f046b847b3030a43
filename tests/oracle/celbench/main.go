// Command celbench times Kubernetes' own evaluation of device selectors, one
// round per command, so that whoever compares it with something else can take
// turns. It reads one JSON object per line on standard input and answers each
// with one on standard output.
//
// "load" names a fleet and gives its devices. "count" says what a selector
// answers for a fleet. "matches" times what the scheduler calls for each
// device, "program" the same program with its inputs prepared beforehand,
// "compile" what admission does with the expression.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type command struct {
	Operation  string   `json:"operation"`
	Fleet      string   `json:"fleet"`
	Expression string   `json:"expression"`
	Devices    []device `json:"devices"`
	// Repeats of the work within the round.
	Repeats int `json:"repeats"`
}

type answer struct {
	// Nanoseconds that one evaluation or compilation took, on average.
	Nanoseconds float64 `json:"nanoseconds"`
	Yes         int     `json:"yes"`
	No          int     `json:"no"`
	Errors      int     `json:"errors"`
}

// fleet is devices as the scheduler has them and as a program wants them.
type fleet struct {
	inputs      []dracel.Device
	activations []map[string]any
}

type server struct {
	fleets   map[string]fleet
	compiled map[string]dracel.CompilationResult
}

// compile does what admission does: a new expression, with its cost.
func compile(expression string) dracel.CompilationResult {
	envType := environment.NewExpressions
	result := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true}).
		CompileCELExpression(expression, dracel.Options{EnvType: &envType})
	if result.Error != nil {
		panic(result.Error)
	}
	return result
}

func (s *server) selector(expression string) dracel.CompilationResult {
	found, ok := s.compiled[expression]
	if !ok {
		found = compile(expression)
		s.compiled[expression] = found
	}
	return found
}

func (s *server) respond(c command) answer {
	switch c.Operation {
	case "load":
		s.fleets[c.Fleet] = newFleet(c.Devices)
		return answer{}
	case "count":
		return s.count(s.fleets[c.Fleet], s.selector(c.Expression))
	case "compile":
		return timed(c.Repeats, 1, func() { compile(c.Expression) })
	case "matches":
		inputs, selector := s.fleets[c.Fleet].inputs, s.selector(c.Expression)
		return timed(c.Repeats, len(inputs), func() {
			for _, input := range inputs {
				_, _, _ = selector.DeviceMatches(context.Background(), input)
			}
		})
	case "program":
		activations, program := s.fleets[c.Fleet].activations, s.selector(c.Expression).Program
		return timed(c.Repeats, len(activations), func() {
			for _, activation := range activations {
				_, _, _ = program.ContextEval(context.Background(), activation)
			}
		})
	}
	panic(fmt.Sprintf("unknown operation %q", c.Operation))
}

// count also makes sure that both ways to evaluate agree.
func (s *server) count(f fleet, selector dracel.CompilationResult) (a answer) {
	for i, input := range f.inputs {
		match, _, err := selector.DeviceMatches(context.Background(), input)
		value, _, prepared := selector.Program.ContextEval(context.Background(), f.activations[i])
		if (err == nil) != (prepared == nil) || (err == nil && value.Value() != match) {
			panic(fmt.Sprintf("device %d: the prepared input answers otherwise", i))
		}
		switch {
		case err != nil:
			a.Errors++
		case match:
			a.Yes++
		default:
			a.No++
		}
	}
	return a
}

func timed(repeats, evaluations int, work func()) answer {
	runtime.GC()
	start := time.Now()
	for range repeats {
		work()
	}
	elapsed := time.Since(start)
	return answer{Nanoseconds: float64(elapsed.Nanoseconds()) / float64(repeats*evaluations)}
}

func main() {
	s := server{fleets: map[string]fleet{}, compiled: map[string]dracel.CompilationResult{}}
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
