package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// What the published OpenAPI documents say of a type, as far as Go's reflection cannot see it.
type definition struct {
	Required   []string             `json:"required"`
	Properties map[string]*property `json:"properties"`
	MapType    string               `json:"x-kubernetes-map-type"`
}

type property struct {
	Default  *json.RawMessage `json:"default"`
	ListType string           `json:"x-kubernetes-list-type"`
	ListKeys []string         `json:"x-kubernetes-list-map-keys"`
	MapType  string           `json:"x-kubernetes-map-type"`
	Strategy string           `json:"x-kubernetes-patch-strategy"`
	MergeKey string           `json:"x-kubernetes-patch-merge-key"`
}

type definitions map[string]*definition

// readDefinitions merges the schemas of every OpenAPI v3 document in a directory.
func readDefinitions(directory string) definitions {
	found := definitions{}
	paths, err := filepath.Glob(filepath.Join(directory, "*.json"))
	check(err)
	if len(paths) == 0 {
		fail("no OpenAPI documents in %s", directory)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(err)
		var document struct {
			Components struct {
				Schemas definitions `json:"schemas"`
			} `json:"components"`
		}
		check(json.Unmarshal(data, &document))
		for name, schema := range document.Components.Schemas {
			found[name] = schema
		}
	}
	return found
}

// openAPIName is k8s.io/api/core/v1.Pod written as io.k8s.api.core.v1.Pod.
func openAPIName(pkg, name string) string {
	host, rest, _ := strings.Cut(pkg, "/")
	parts := strings.Split(host, ".")
	for left, right := 0, len(parts)-1; left < right; left, right = left+1, right-1 {
		parts[left], parts[right] = parts[right], parts[left]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + name
}
