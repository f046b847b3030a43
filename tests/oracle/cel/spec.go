package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	celpb "cel.dev/expr"
	// Registers the messages that the tests mention, or the files cannot be read.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	testpb "cel.dev/expr/conformance/test"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/encoding/prototext"
)

// specCase is one test of CEL's specification as Kubernetes answers it.
type specCase struct {
	ID string `json:"id"`
	// Left says why the case is left out: it needs something that no device
	// expression can have. Then there is no more of it.
	Left       string     `json:"left,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Variables  []variable `json:"variables,omitempty"`
	Kind       string     `json:"kind,omitempty"`
	Error      string     `json:"error,omitempty"`
	OutputType string     `json:"outputType,omitempty"`
	Panic      string     `json:"panic,omitempty"`
	// Evaluation is missing where the test is about types alone.
	Evaluation *evaluation `json:"evaluation,omitempty"`
	// AsSpecified says whether this is what the specification asks for. Its
	// texts of errors are not compared.
	AsSpecified bool `json:"asSpecified"`
}

// What only protobuf messages that are not well known can mean.
var messageWords = []string{
	"TestAllTypes", "NestedTestAllTypes", "TestRequired", "GlobalEnum", "NestedEnum", "cel.expr.", "proto.hasExt",
	"proto.getExt", "TestJsonNames",
}

func printSpec(directory string, w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	paths, err := filepath.Glob(filepath.Join(directory, "*.textproto"))
	if err != nil {
		return err
	}
	sort.Strings(paths)
	base := question{Stored: true, ConsumableCapacity: true, ListTypeAttributes: true}.compile("true")
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file := &testpb.SimpleTestFile{}
		if err := prototext.Unmarshal(content, file); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, section := range file.GetSection() {
			for _, test := range section.GetTest() {
				found := specCase{ID: strings.Join([]string{file.GetName(), section.GetName(), test.GetName()}, "/")}
				if found.Left = leftOut(test); found.Left == "" {
					found.answer(base.Environment, test)
				}
				if err := encoder.Encode(found); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// leftOut is what the test needs that there is not.
func leftOut(test *testpb.SimpleTest) string {
	texts := []string{test.GetExpr(), test.GetValue().String(), test.GetTypedResult().String()}
	for _, declaration := range test.GetTypeEnv() {
		texts = append(texts, declaration.String())
	}
	for _, binding := range test.GetBindings() {
		texts = append(texts, binding.String())
	}
	all := strings.Join(texts, " ")
	for _, word := range messageWords {
		if strings.Contains(all, word) {
			return "messages"
		}
	}
	for _, declaration := range test.GetTypeEnv() {
		if declaration.GetFunction() != nil {
			return "functions"
		}
		if t, err := cel.ProtoAsDeclaration(declaration); err != nil || t == nil {
			return "messages"
		}
	}
	switch {
	case test.GetContainer() != "":
		return "container"
	case test.GetDisableMacros():
		return "macros off"
	case test.GetUnknown() != nil || test.GetAnyUnknowns() != nil:
		return "unknowns"
	}
	return ""
}

func (c *specCase) answer(env *cel.Env, test *testpb.SimpleTest) {
	defer func() {
		if r := recover(); r != nil {
			c.Panic = fmt.Sprint(r)
		}
	}()
	c.Expression = test.GetExpr()
	bindings := map[string]any{}
	options := []cel.EnvOption{}
	for _, declaration := range test.GetTypeEnv() {
		option, err := cel.ProtoAsDeclaration(declaration)
		if err != nil {
			panic(err)
		}
		options = append(options, option)
	}
	extended, err := env.Extend(options...)
	if err != nil {
		panic(err)
	}
	declared := extended.Variables()
	for _, declaration := range test.GetTypeEnv() {
		v := variable{Name: declaration.GetName()}
		for _, known := range declared {
			if known.Name() == v.Name {
				v.Type = known.Type().String()
			}
		}
		if bound := test.GetBindings()[v.Name]; bound != nil {
			value := mustValue(env, bound.GetValue())
			bindings[v.Name] = value
			v.Value, _ = json.Marshal(encodeValue(value))
		}
		c.Variables = append(c.Variables, v)
	}
	base := question{Stored: true, ConsumableCapacity: true, ListTypeAttributes: true}.compile("true")
	found := compileAny(base, extended, test.GetExpr(), nil, bindings, []device{{}})
	c.Kind, c.Error, c.OutputType = found.Kind, found.Error, found.OutputType
	if len(found.Evaluations) != 0 && !test.GetCheckOnly() {
		c.Evaluation = &found.Evaluations[0]
	}
	c.AsSpecified = c.asSpecified(env, test)
}

func (c *specCase) asSpecified(env *cel.Env, test *testpb.SimpleTest) bool {
	if test.GetEvalError() != nil || test.GetAnyEvalErrors() != nil {
		return c.Error != "" || c.Evaluation != nil && c.Evaluation.Error != ""
	}
	if c.Error != "" || test.GetCheckOnly() {
		return c.Error == ""
	}
	if c.Evaluation == nil || c.Evaluation.Value == nil {
		return false
	}
	wanted := &celpb.Value{Kind: &celpb.Value_BoolValue{BoolValue: true}}
	if test.GetValue() != nil {
		wanted = test.GetValue()
	} else if result := test.GetTypedResult().GetResult(); result != nil {
		wanted = result
	}
	return sameJSON(c.Evaluation.Value, encodeValue(mustValue(env, wanted)))
}

func mustValue(env *cel.Env, value *celpb.Value) ref.Val {
	converted, err := cel.ProtoAsValue(env.CELTypeAdapter(), value)
	if err != nil {
		panic(err)
	}
	return converted
}
