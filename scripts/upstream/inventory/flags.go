package main

import (
	"go/ast"
	"regexp"
	"strings"
)

// flagPackages register the flags of a kubelet.
var flagPackages = []string{
	kubernetes + "/cmd/kubelet",
	"k8s.io/component-base/logs",
	"k8s.io/component-base/version",
	"k8s.io/component-base/cli",
}

// A method of a flag set that adds a flag: StringVarP(&variable, name, …), Bool(name, …), Var(value, name, usage).
var addsFlag = regexp.MustCompile(`^(?:Bool|String|StringSlice|Int|Int32|Int64|Uint|Uint32|Uint64|Float32|Float64|Duration)?(Var)?P?$`)

func flags(from *source) kind {
	result := kind{}
	deprecated := map[string]string{}
	from.below(func(file *goFile) {
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			method := lastName(call.Fun)
			_, isMethod := call.Fun.(*ast.SelectorExpr)
			switch {
			case isMethod && method == "MarkDeprecated" && len(call.Args) == 2:
				if name, ok := from.text(file, call.Args[0]); ok {
					deprecated[name] = ", deprecated"
				}
			case isMethod && addsFlag.MatchString(method) && method != "":
				at := 0
				if strings.Contains(method, "Var") {
					at = 1
				}
				if len(call.Args) > at+1 {
					if name, ok := from.text(file, call.Args[at]); ok {
						result.add(name, flagState(from, file, method, call.Args[at+1:]), file.where())
					}
				}
			// register(global, local, name), registerDeprecated(global, local, name, reason) takes a flag of a library over.
			case strings.HasPrefix(method, "register") && len(call.Args) >= 3:
				if name, ok := from.text(file, call.Args[2]); ok {
					// register replaces _ by -, as the normalization of flags does.
					result.add(strings.ReplaceAll(name, "_", "-"), "of a library", file.where())
					if method == "registerDeprecated" {
						deprecated[strings.ReplaceAll(name, "_", "-")] = ", deprecated"
					}
				}
			}
			return true
		})
	}, flagPackages...)
	for name, mark := range deprecated {
		if flag, ok := result[name]; ok {
			result[name] = entry{flag.Is + mark, flag.In}
		}
	}
	return result
}

// flagState is the type of a flag, and its default value where the source has one.
func flagState(from *source, file *goFile, method string, rest []ast.Expr) string {
	is := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(method, "P"), "Var"))
	if is == "" {
		return "value"
	}
	return is + ", default " + from.source(file, rest[0])
}
