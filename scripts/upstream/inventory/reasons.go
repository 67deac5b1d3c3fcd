package main

import (
	"go/ast"
	"regexp"
	"strings"
)

// records are the methods of an event recorder. The second argument is the event's type, the third one the reason.
var records = map[string]bool{"Event": true, "Eventf": true, "AnnotatedEventf": true}

// isReason are names of constants that an event, a status or a condition shows.
var isReason = regexp.MustCompile(`Reason|^(?:Err|Failed|Warning)[A-Z]`)

// reasons are those of events, statuses and conditions.
func reasons(from *source) kind {
	result := kind{}
	from.below(func(file *goFile) {
		for name, found := range file.owner.constants {
			isEvent := strings.HasSuffix(file.owner.path, "/kubelet/events")
			if found.file != file || !found.isConst || !(isEvent || isReason.MatchString(name)) {
				continue
			}
			if text, ok := from.text(file, found.value); ok {
				result.add(text, "known", file.where())
			}
		}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || !records[lastName(call.Fun)] {
				return true
			}
			at := 2
			if lastName(call.Fun) == "AnnotatedEventf" {
				at = 3
			}
			if len(call.Args) > at {
				if text, ok := from.text(file, call.Args[at]); ok {
					result.add(text, "known", file.where())
				}
			}
			return true
		})
	}, kubernetes+"/pkg/kubelet", kubernetes+"/cmd/kubelet", kubernetes+"/pkg/volume", "k8s.io/api/core/v1")
	return result
}

var isPath = regexp.MustCompile(`^/[a-zA-Z][\w/{}:*.-]*$`)

// endpoints are the paths that the kubelet's servers handle.
func endpoints(from *source) kind {
	result := kind{}
	from.below(func(file *goFile) {
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok {
				if text, ok := from.text(file, literal); ok && isPath.MatchString(text) {
					result.add(text, "handled", file.where())
				}
			}
			return true
		})
	}, kubernetes+"/pkg/kubelet/server")
	return result
}

// images are those of upstream's test suites.
func images(from *source) kind {
	result := kind{}
	from.below(func(file *goFile) {
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok || len(literal.Elts) != 3 {
				return true
			}
			name, isName := from.text(file, literal.Elts[1])
			version, isVersion := from.text(file, literal.Elts[2])
			if isName && isVersion {
				result.add(name, version, file.where())
			}
			return true
		})
	}, kubernetes+"/test/utils/image")
	return result
}
