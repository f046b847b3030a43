// The oracle for patches and managedFields: upstream's own packages, asked over JSON lines.
//
// A request names an op and the answer says what an API server of the pinned release would make of
// it. README.md beside this file has the protocol.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/klog/v2"
)

type request struct {
	Op         string          `json:"op"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Document   json.RawMessage `json:"document"`
	Patch      json.RawMessage `json:"patch"`
	Steps      []step          `json:"steps"`
	Schema     json.RawMessage `json:"schema"`
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(os.Stderr)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	decoder := json.NewDecoder(in)
	for decoder.More() {
		var asked request
		if err := decoder.Decode(&asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		line, err := json.Marshal(answer(asked))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
}

// answer turns a panic of upstream into an answer like any other: some hostile patches cause one.
func answer(asked request) (said any) {
	defer func() {
		if caught := recover(); caught != nil {
			said = map[string]any{"panic": fmt.Sprint(caught)}
		}
	}()
	switch asked.Op {
	case "json":
		return jsonPatch(asked)
	case "merge":
		return mergePatch(asked)
	case "strategic":
		return strategicMerge(asked)
	case "sequence":
		return sequence(asked)
	case "custom":
		return customSequence(asked)
	case "resetFields":
		return resetFieldsOf(asked.Kind)
	}
	return map[string]any{"requestError": "unknown op " + asked.Op}
}
