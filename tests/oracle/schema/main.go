// The oracle for wire schemas: what upstream's types are made of, and how objects of them look as
// protobuf and as JSON.
//
//	schema schemas OPENAPI DIRECTORY    write schema files, from Go types and OpenAPI documents
//	schema cases SEED                   print random objects of every kind, one a line
//	schema gnostic                      turn an OpenAPI v2 document from JSON into protobuf
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "schemas":
		writeSchemas(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "cases":
		seed, err := strconv.ParseInt(os.Args[2], 10, 64)
		check(err)
		writeCases(seed)
	case len(os.Args) == 2 && os.Args[1] == "gnostic":
		writeGnostic()
	default:
		fail("usage: schema schemas OPENAPI DIRECTORY | schema cases SEED | schema gnostic")
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}
