package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// defaults are the assignments of the functions that set default values of pods and nodes and of the configuration.
func defaults(from *source) kind {
	result := kind{}
	from.below(func(file *goFile) {
		if file.name != "defaults.go" {
			return
		}
		for _, declaration := range file.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			ast.Inspect(function.Body, func(node ast.Node) bool {
				assignment, ok := node.(*ast.AssignStmt)
				if !ok || assignment.Tok != token.ASSIGN || len(assignment.Lhs) != len(assignment.Rhs) {
					return true
				}
				for i, target := range assignment.Lhs {
					if _, ok := target.(*ast.Ident); !ok {
						name := function.Name.Name + ": " + from.source(file, target)
						result.add(name, from.source(file, assignment.Rhs[i]), file.where())
					}
				}
				return true
			})
		}
	}, kubernetes+"/pkg/apis/core/v1", kubernetes+"/pkg/kubelet/apis/config/v1beta1")
	return result
}

// constants are those of the kubelet's own packages: periods, bounds, names.
func constants(from *source) kind {
	result := kind{}
	seen := map[*goPackage]bool{}
	from.below(func(file *goFile) {
		if seen[file.owner] {
			return
		}
		seen[file.owner] = true
		for name, found := range file.owner.constants {
			if value := from.source(found.file, found.value); found.isConst && !strings.Contains(value, "iota") && !strings.HasSuffix(name, "_rawDesc") {
				result.add(file.where()+"."+name, value, file.where())
			}
		}
	}, kubernetes+"/pkg/kubelet", kubernetes+"/cmd/kubelet", kubernetes+"/pkg/volume", kubernetes+"/pkg/probe")
	return result
}
