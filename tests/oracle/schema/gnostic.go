package main

import (
	"encoding/json"
	"io"
	"os"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sigs.k8s.io/yaml"
)

// writeGnostic reads an OpenAPI v2 document as JSON and writes it as protobuf. Values of any type
// travel as YAML, of which there are many spellings: they are written as JSON, with sorted keys.
func writeGnostic() {
	data, err := io.ReadAll(os.Stdin)
	check(err)
	document, err := openapi_v2.ParseDocument(data)
	check(err)
	respell(document.ProtoReflect())
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(document)
	check(err)
	_, err = os.Stdout.Write(out)
	check(err)
}

func respell(message protoreflect.Message) {
	if anything, ok := message.Interface().(*openapi_v2.Any); ok {
		text, err := yaml.YAMLToJSON([]byte(anything.Yaml))
		check(err)
		var value any
		check(json.Unmarshal(text, &value))
		text, err = json.Marshal(value)
		check(err)
		anything.Yaml = string(text)
		return
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				respell(value.List().Get(i).Message())
			}
		default:
			respell(value.Message())
		}
		return true
	})
}
