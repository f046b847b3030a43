// The oracle of tables: upstream's printers, asked about objects at a fixed instant.
//
// Printers read the clock, so they run inside a synctest bubble, where it always says the first
// second of the year 2000. That needs a test binary, hence the name of this file:
//
//	go test -c -o .build/printers . && QUESTIONS=in.jsonl ANSWERS=out.jsonl .build/printers
//
// One question per line, one answer per line, in order.
package printers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
)

type question struct {
	Object  json.RawMessage                                  `json:"object"`
	Columns []apiextensionsv1.CustomResourceColumnDefinition `json:"columns"`
	Custom  bool                                             `json:"custom"`
	Plain   bool                                             `json:"plain"`
	Seconds *float64                                         `json:"seconds"`
}

type column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Format   string `json:"format"`
	Priority int32  `json:"priority"`
}

type answer struct {
	Error      string                     `json:"error,omitempty"`
	Long       string                     `json:"long,omitempty"`
	Short      string                     `json:"short,omitempty"`
	Columns    []column                   `json:"columns,omitempty"`
	Cells      []interface{}              `json:"cells,omitempty"`
	Conditions []metav1.TableRowCondition `json:"conditions,omitempty"`
}

func TestAnswer(t *testing.T) {
	in, err := os.ReadFile(os.Getenv("QUESTIONS"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		lines := bufio.NewScanner(bytes.NewReader(in))
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var asked question
			if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
				t.Fatal(err)
			}
			told, err := json.Marshal(respond(asked))
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(told, '\n'))
		}
	})
	if err := os.WriteFile(os.Getenv("ANSWERS"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

var generator = printers.NewTableGenerator().With(printersinternal.AddHandlers)

func respond(asked question) answer {
	if asked.Seconds != nil {
		d := time.Duration(*asked.Seconds * float64(time.Second))
		return answer{Long: duration.HumanDuration(d), Short: duration.ShortHumanDuration(d)}
	}
	table, err := convert(asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	told := answer{Cells: table.Rows[0].Cells, Conditions: table.Rows[0].Conditions}
	for _, one := range table.ColumnDefinitions {
		told.Columns = append(told.Columns, column{one.Name, one.Type, one.Format, one.Priority})
	}
	return told
}

func convert(asked question) (*metav1.Table, error) {
	ctx := context.Background()
	loose := &unstructured.Unstructured{}
	if err := loose.UnmarshalJSON(asked.Object); err != nil {
		return nil, err
	}
	if asked.Custom {
		convertor, err := tableconvertor.New(asked.Columns)
		if err != nil {
			return nil, err
		}
		return convertor.ConvertToTable(ctx, loose, nil)
	}
	if asked.Plain {
		return rest.NewDefaultTableConvertor(schema.GroupResource{}).ConvertToTable(ctx, loose, nil)
	}
	versioned, err := legacyscheme.Scheme.New(loose.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(asked.Object, versioned); err != nil {
		return nil, err
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(versioned, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	table, err := generator.GenerateTable(internal, printers.GenerateOptions{Wide: true})
	if err == nil && len(table.Rows) != 1 {
		err = fmt.Errorf("%d rows", len(table.Rows))
	}
	return table, err
}
