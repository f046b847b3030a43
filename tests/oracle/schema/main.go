// The oracle for wire schemas: what upstream's types are made of, and how objects of them look as
// protobuf and as JSON.
//
//	schema schemas OPENAPI DIRECTORY    write schema files, from Go types and OpenAPI documents
package main

import (
	"fmt"
	"os"
)

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "schemas":
		writeSchemas(os.Args[2], os.Args[3])
	default:
		fail("usage: schema schemas OPENAPI DIRECTORY")
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
