package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// encode writes what a typed client would send for each JSON object on standard input.
func encode() {
	known := runtime.NewScheme()
	if err := scheme.AddToScheme(known); err != nil {
		fail("%v", err)
	}
	// Typed clients send delete options under the group of what they delete.
	metav1.AddToGroupVersion(known, schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"})
	decoder := serializer.NewCodecFactory(known).UniversalDeserializer()
	encoder := protobuf.NewSerializer(known, known)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		object, _, err := decoder.Decode(lines.Bytes(), nil, nil)
		if err != nil {
			fail("cannot decode %s: %v", lines.Text(), err)
		}
		var out bytes.Buffer
		if err := encoder.Encode(object, &out); err != nil {
			fail("cannot encode %s: %v", lines.Text(), err)
		}
		fmt.Println(base64.StdEncoding.EncodeToString(out.Bytes()))
	}
	if err := lines.Err(); err != nil {
		fail("%v", err)
	}
}
