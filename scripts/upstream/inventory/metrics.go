package main

import (
	"go/ast"
	"go/types"
	"strings"
)

// metricPackages define the metrics that a kubelet shows. It imports others, such as the scheduler's, and does not register theirs.
var metricPackages = []string{
	kubernetes + "/cmd/kubelet",
	kubernetes + "/pkg/credentialprovider",
	kubernetes + "/pkg/kubelet",
	kubernetes + "/pkg/volume",
	"k8s.io/apiserver/pkg/authentication",
	"k8s.io/apiserver/pkg/authorization/authorizerfactory",
	"k8s.io/component-base",
	"github.com/google/cadvisor",
}

// optionTypes are those of a metric's options.
var optionTypes = map[string]string{
	"CounterOpts": "counter", "GaugeOpts": "gauge", "HistogramOpts": "histogram", "SummaryOpts": "summary", "TimingHistogramOpts": "histogram",
}

func metrics(from *source) kind {
	result := kind{}
	from.below(func(file *goFile) {
		seen := map[*ast.CompositeLit]bool{}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				if lastName(node.Fun) == "NewDesc" {
					addDescription(from, file, node, result)
				}
				for _, argument := range node.Args {
					if literal := optionsOf(argument); literal != nil && !seen[literal] {
						seen[literal] = true
						addOptions(from, file, literal, labels(from, file, node.Args), result)
					}
				}
			case *ast.CompositeLit:
				if optionsOf(node) != nil && !seen[node] {
					seen[node] = true
					addOptions(from, file, node, "", result)
				}
				addCadvisorMetric(from, file, node, result)
				addCadvisorSets(file, node, result)
			}
			return true
		})
	}, metricPackages...)
	return result
}

// optionsOf returns the literal of a metric's options, such as &metrics.CounterOpts{…}, else nil.
func optionsOf(value ast.Expr) *ast.CompositeLit {
	if pointer, ok := value.(*ast.UnaryExpr); ok {
		value = pointer.X
	}
	literal, ok := value.(*ast.CompositeLit)
	if !ok || literal.Type == nil || optionTypes[lastName(literal.Type)] == "" {
		return nil
	}
	return literal
}

func addOptions(from *source, file *goFile, literal *ast.CompositeLit, labels string, result kind) {
	options := fields(literal)
	parts := []string{}
	for _, part := range []string{"Namespace", "Subsystem", "Name"} {
		if options[part] == nil {
			continue
		}
		text, ok := from.text(file, options[part])
		if !ok {
			return
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	if options["Name"] == nil {
		return
	}
	is := optionTypes[lastName(literal.Type)] + labels
	if stability := lastName(options["StabilityLevel"]); stability != "" {
		is += ", " + stability
	}
	if deprecated := options["DeprecatedVersion"]; deprecated != nil {
		is += ", deprecated since " + from.source(file, deprecated)
	}
	if buckets := options["Buckets"]; buckets != nil {
		is += ", buckets " + from.definition(file, buckets)
	}
	result.add(strings.Join(parts, "_"), is, file.where())
}

// addDescription adds a metric of a collector: NewDesc(name, help, labels, constant labels, stability, deprecated).
func addDescription(from *source, file *goFile, call *ast.CallExpr, result kind) {
	if len(call.Args) < 3 {
		return
	}
	name, ok := from.text(file, call.Args[0])
	if !ok {
		return
	}
	is := "collected" + labels(from, file, call.Args[2:3])
	if len(call.Args) > 4 {
		is += ", " + lastName(call.Args[4])
	}
	result.add(name, is, file.where())
}

// addCadvisorMetric adds a row of cAdvisor's own tables.
func addCadvisorMetric(from *source, file *goFile, literal *ast.CompositeLit, result kind) {
	row := fields(literal)
	if row["name"] == nil || row["help"] == nil || row["valueType"] == nil {
		return
	}
	if name, ok := from.text(file, row["name"]); ok {
		extra := []ast.Expr{}
		if row["extraLabels"] != nil {
			extra = append(extra, row["extraLabels"])
		}
		is := strings.ToLower(strings.TrimSuffix(lastName(row["valueType"]), "Value"))
		result.add(name, is+labels(from, file, extra), file.where())
	}
}

// addCadvisorSets adds the sets of cAdvisor's metrics that the kubelet enables.
func addCadvisorSets(file *goFile, literal *ast.CompositeLit, result kind) {
	if lastName(literal.Type) != "MetricSet" || file.owner.path != kubernetes+"/pkg/kubelet/cadvisor" {
		return
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			result.add("cAdvisor's "+lastName(pair.Key), "enabled", file.where())
		}
	}
}

// labels are those of the first list of strings among the arguments: " {a, b}".
func labels(from *source, file *goFile, arguments []ast.Expr) string {
	for _, argument := range arguments {
		list, ok := argument.(*ast.CompositeLit)
		if !ok || list.Type == nil || types.ExprString(list.Type) != "[]string" {
			continue
		}
		names := []string{}
		for _, element := range list.Elts {
			name, ok := from.text(file, element)
			if !ok {
				name = types.ExprString(element)
			}
			names = append(names, name)
		}
		return " {" + strings.Join(names, ", ") + "}"
	}
	return ""
}
