// Command cel answers what Kubernetes' own compiler for device expressions
// says about an expression, and what the expression says about devices. It
// reads one JSON object per line on standard input and writes one per line on
// standard output, in the same order.
//
// With -functions it prints, instead, the functions the two environments
// declare, one overload per line as JSON. With -spec DIRECTORY it prints the
// cases of CEL's own conformance tests found there, with upstream's answers.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"

	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type question struct {
	Expression string `json:"expression"`
	// Bytes carries an expression that is not valid UTF-8; it wins over Expression.
	Bytes              []byte `json:"bytes,omitempty"`
	ConsumableCapacity bool   `json:"consumableCapacity"`
	ListTypeAttributes bool   `json:"listTypeAttributes"`
	Stored             bool   `json:"stored"`
	Derived            bool   `json:"derived"`
	// Devices to evaluate the expression for, in order.
	Devices []device `json:"devices,omitempty"`
	// CostLimit of an evaluation, instead of the one Kubernetes has.
	CostLimit *uint64 `json:"costLimit,omitempty"`
	// Any allows a result of any type, and Variables beside the device.
	Any       bool       `json:"any,omitempty"`
	Variables []variable `json:"variables,omitempty"`
}

type answer struct {
	Kind       string `json:"kind,omitempty"`
	Error      string `json:"error,omitempty"`
	OutputType string `json:"outputType,omitempty"`
	MaxCost    uint64 `json:"maxCost"`
	Panic      string `json:"panic,omitempty"`
	// Evaluations has one answer for each device of the question.
	Evaluations []evaluation `json:"evaluations,omitempty"`
}

func (q question) text() string {
	if q.Bytes != nil {
		return string(q.Bytes)
	}
	return q.Expression
}

func (q question) compile(text string) dracel.CompilationResult {
	envType := environment.NewExpressions
	if q.Stored {
		envType = environment.StoredExpressions
	}
	compiler := dracel.GetCompiler(dracel.Features{
		EnableConsumableCapacity: q.ConsumableCapacity,
		EnableListTypeAttributes: q.ListTypeAttributes,
	})
	return compiler.CompileCELExpression(text, dracel.Options{
		EnvType:          &envType,
		DerivedAttribute: q.Derived,
		CostLimit:        q.CostLimit,
	})
}

func respond(q question) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{Panic: fmt.Sprint(r)}
		}
	}()
	if q.Any {
		return evaluateAny(q)
	}
	result := q.compile(q.text())
	a.MaxCost = result.MaxCost
	if result.OutputType != nil {
		a.OutputType = result.OutputType.String()
	}
	if result.Error != nil {
		a.Kind = string(result.Error.Type)
		a.Error = result.Error.Detail
		return a
	}
	for _, d := range q.Devices {
		a.Evaluations = append(a.Evaluations, evaluate(result, d, q.Derived))
	}
	return a
}

type declaration struct {
	Stored             bool     `json:"stored"`
	ListTypeAttributes bool     `json:"listTypeAttributes"`
	Function           string   `json:"function"`
	Overload           string   `json:"overload"`
	Member             bool     `json:"member"`
	Arguments          []string `json:"arguments"`
	Result             string   `json:"result"`
}

func printFunctions(w io.Writer) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, q := range []question{
		{},
		{ListTypeAttributes: true},
		{Stored: true},
	} {
		functions := q.compile("true").Environment.Functions()
		names := make([]string, 0, len(functions))
		for name := range functions {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			if functions[name].IsDeclarationDisabled() {
				continue
			}
			for _, overload := range functions[name].OverloadDecls() {
				arguments := make([]string, 0, len(overload.ArgTypes()))
				for _, t := range overload.ArgTypes() {
					arguments = append(arguments, t.String())
				}
				_ = encoder.Encode(declaration{
					Stored:             q.Stored,
					ListTypeAttributes: q.ListTypeAttributes,
					Function:           name,
					Overload:           overload.ID(),
					Member:             overload.IsMemberFunction(),
					Arguments:          arguments,
					Result:             overload.ResultType().String(),
				})
			}
		}
	}
}

func main() {
	functions := flag.Bool("functions", false, "print the declared functions")
	spec := flag.String("spec", "", "print the conformance tests in this directory, with answers")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if *functions {
		printFunctions(out)
		return
	}
	if *spec != "" {
		if err := printSpec(*spec, out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var q question
			if err := json.Unmarshal(line, &q); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(respond(q)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		if err != nil {
			return
		}
	}
}
