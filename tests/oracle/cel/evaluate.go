package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	resourceapi "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

const (
	// Go iterates over maps in a random order, so an answer may depend on luck.
	// A map of two has its entries swapped in one of eight iterations, so many
	// rounds are needed to be sure; fewer for what takes long.
	roundsMax      = 128
	roundsMin      = 8
	roundsCostsMax = 1_000_000
	// An evaluation is bounded by its cost; this is for what cost overlooks.
	patience = 20 * time.Second
)

// device is what a question says of a device: the JSON of resource.k8s.io/v1.
type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations,omitempty"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes,omitempty"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity,omitempty"`
}

func (d device) input() dracel.Device {
	return dracel.Device{
		Driver:                   d.Driver,
		AllowMultipleAllocations: d.AllowMultipleAllocations,
		Attributes:               d.Attributes,
		Capacity:                 d.Capacity,
	}
}

// evaluation is what became of one expression and one device. Of match,
// attribute, value and error exactly one is set, unless the answer is unstable.
type evaluation struct {
	Match      *bool          `json:"match,omitempty"`
	Attribute  map[string]any `json:"attribute,omitempty"`
	Value      any            `json:"value,omitempty"`
	Error      string         `json:"error,omitempty"`
	ActualCost *uint64        `json:"actualCost,omitempty"`
	// Unstable says what asking again changed: "answer", or only "cost".
	Unstable string `json:"unstable,omitempty"`
	// Timeout says that there was no answer in time.
	Timeout bool `json:"timeout,omitempty"`
}

// repeated evaluates several times and compares.
func repeated(once func(context.Context) evaluation) evaluation {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answers := make(chan evaluation, 1)
	go func() {
		first := recovered(ctx, once)
		rounds := roundsMax
		if first.ActualCost != nil {
			rounds = max(roundsMin, min(rounds, int(roundsCostsMax/(*first.ActualCost+1))))
		}
		for range rounds {
			again := recovered(ctx, once)
			if first.ActualCost != nil && again.ActualCost != nil && *first.ActualCost != *again.ActualCost {
				// What depends on luck is not part of the answer, or no recording
				// could be repeated.
				first.ActualCost, first.Unstable = nil, "cost"
			}
			again.ActualCost, again.Unstable = first.ActualCost, first.Unstable
			if !reflect.DeepEqual(first, again) {
				first = evaluation{Unstable: "answer"}
				break
			}
		}
		answers <- first
	}()
	select {
	case found := <-answers:
		found.Timeout = ctx.Err() != nil
		return found
	case <-time.After(2 * patience):
		return evaluation{Timeout: true}
	}
}

func recovered(ctx context.Context, once func(context.Context) evaluation) (e evaluation) {
	defer func() {
		if r := recover(); r != nil {
			e = evaluation{Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	return once(ctx)
}

func evaluate(result dracel.CompilationResult, d device, derived bool) evaluation {
	return repeated(func(ctx context.Context) (e evaluation) {
		if derived {
			attribute, details, err := result.EvaluateDerivedAttribute(ctx, d.input())
			e.ActualCost = details.ActualCost()
			if err != nil {
				e.Error = err.Error()
			} else {
				e.Attribute = attributeMembers(attribute)
			}
			return e
		}
		match, details, err := result.DeviceMatches(ctx, d.input())
		e.ActualCost = details.ActualCost()
		if err != nil {
			e.Error = err.Error()
		} else {
			e.Match = &match
		}
		return e
	})
}

// attributeMembers is the attribute's JSON, with empty lists, which its own
// encoding leaves out.
func attributeMembers(attribute *resourceapi.DeviceAttribute) map[string]any {
	members := map[string]any{}
	value := reflect.ValueOf(*attribute)
	for i := range value.NumField() {
		if field := value.Field(i); !field.IsNil() {
			encoded, _ := json.Marshal(field.Interface())
			name, _, _ := cut(value.Type().Field(i).Tag.Get("json"))
			members[name] = json.RawMessage(encoded)
		}
	}
	return members
}

// variable is declared beside the device. Type is in the form in which CEL
// prints types; Value is encoded as encodeValue does.
type variable struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value,omitempty"`
}

// anyProgram is a program of any expression in an environment of Kubernetes,
// extended with variables.
type anyProgram struct {
	cel.Program
	bindings map[string]any
	found    ref.Val
}

// ContextEval adds the variables to the device that Kubernetes has prepared,
// and keeps the value from being turned into a bool.
func (p *anyProgram) ContextEval(ctx context.Context, input any) (ref.Val, *cel.EvalDetails, error) {
	activation := map[string]any{}
	for name, value := range input.(map[string]any) {
		activation[name] = value
	}
	for name, value := range p.bindings {
		activation[name] = value
	}
	value, details, err := p.Program.ContextEval(ctx, activation)
	p.found = value
	return value, details, err
}

// evaluateAny compiles without the rule about the result's type and evaluates
// for each device, or for one without anything.
func evaluateAny(q question) (a answer) {
	base := q.compile("true")
	options := make([]cel.EnvOption, 0, len(q.Variables))
	bindings := map[string]any{}
	for _, v := range q.Variables {
		t, err := parseType(v.Type)
		if err != nil {
			panic(err)
		}
		options = append(options, cel.Variable(v.Name, t))
		if v.Value != nil {
			value, err := decodeValue(v.Value)
			if err != nil {
				panic(err)
			}
			bindings[v.Name] = value
		}
	}
	env, err := base.Environment.Extend(options...)
	if err != nil {
		panic(err)
	}
	devices := q.Devices
	if len(devices) == 0 {
		devices = []device{{}}
	}
	return compileAny(base, env, q.text(), q.CostLimit, bindings, devices)
}

func compileAny(
	base dracel.CompilationResult, env *cel.Env, text string, costLimit *uint64, bindings map[string]any, devices []device,
) (a answer) {
	ast, issues := env.Compile(text)
	if issues != nil {
		return answer{Kind: "RuleInvalid", Error: "compilation failed: " + issues.String()}
	}
	limit := uint64(resourceapi.CELSelectorExpressionMaxCost)
	if costLimit != nil {
		limit = *costLimit
	}
	program, err := env.Program(ast, cel.CostLimit(limit), cel.InterruptCheckFrequency(100))
	if err != nil {
		return answer{Kind: "InternalError", Error: "program instantiation failed: " + err.Error()}
	}
	a.OutputType = ast.OutputType().String()
	for _, d := range devices {
		a.Evaluations = append(a.Evaluations, repeated(func(ctx context.Context) (e evaluation) {
			capturing := &anyProgram{Program: program, bindings: bindings}
			result := base
			result.Program = capturing
			_, details, err := result.DeviceMatches(ctx, d.input())
			e.ActualCost = details.ActualCost()
			switch {
			case capturing.found == nil || isError(capturing.found):
				e.Error = err.Error()
			default:
				e.Value = encodeValue(capturing.found)
			}
			return e
		}))
	}
	return a
}
