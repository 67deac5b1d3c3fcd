package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// release is a minor release: 1.37 is {1, 37}.
type release struct{ major, minor int }

var releasePattern = regexp.MustCompile(`(\d+)(?:\.|, )(\d+)`)

func parseRelease(text string) (release, error) {
	found := releasePattern.FindStringSubmatch(text)
	if found == nil {
		return release{}, fmt.Errorf("%q is no release", text)
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	return release{major, minor}, nil
}

func (r release) isAfter(other release) bool {
	return r.major > other.major || r.major == other.major && r.minor > other.minor
}

// gates are the feature gates of all packages of a kubelet, in their state at this release.
func gates(from *source, at release) kind {
	result := kind{}
	needs := map[string][]string{}
	from.below(func(file *goFile) {
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			list, ok := pair.Value.(*ast.CompositeLit)
			if !ok {
				return true
			}
			name, ok := from.text(file, pair.Key)
			if !ok {
				return true
			}
			if state := gateState(list, at); state != "" {
				result.add(name, state, file.where())
			}
			return true
		})
		for variable, found := range file.owner.constants {
			if found.file == file && strings.HasSuffix(variable, "FeatureGateDependencies") {
				dependencies(from, found, needs)
			}
		}
	}, "")
	for name, others := range needs {
		if gate, ok := result[name]; ok && len(others) > 0 {
			sort.Strings(others)
			result[name] = entry{gate.Is + ", needs " + strings.Join(others, ", "), gate.In}
		}
	}
	return result
}

// gateState is the last of the states of a gate that this release has; "" if the list has no states, or if the gate comes later.
func gateState(list *ast.CompositeLit, at release) string {
	state := ""
	for _, element := range list.Elts {
		literal, ok := element.(*ast.CompositeLit)
		if !ok {
			return ""
		}
		spec := fields(literal)
		if spec["Version"] == nil || spec["Default"] == nil {
			return ""
		}
		since, err := parseRelease(types.ExprString(spec["Version"]))
		if err != nil || since.isAfter(at) {
			continue
		}
		// A program is compatible with the release before its own, if not told otherwise.
		if compatible := spec["MinCompatibilityVersion"]; compatible != nil {
			if least, err := parseRelease(types.ExprString(compatible)); err != nil || least.isAfter(release{at.major, at.minor - 1}) {
				continue
			}
		}
		stage := lastName(spec["PreRelease"])
		if stage == "" {
			stage = "GA"
		}
		state = stage + map[bool]string{true: ", on", false: ", off"}[lastName(spec["Default"]) == "true"]
		if lastName(spec["LockToDefault"]) == "true" {
			state += ", locked"
		}
	}
	return state
}

// dependencies adds those of a map of gates to the gates that they need.
func dependencies(from *source, found constant, needs map[string][]string) {
	table, ok := found.value.(*ast.CompositeLit)
	if !ok {
		return
	}
	for _, element := range table.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name, _ := from.text(found.file, pair.Key)
		if list, ok := pair.Value.(*ast.CompositeLit); ok {
			for _, other := range list.Elts {
				if text, ok := from.text(found.file, other); ok {
					needs[name] = append(needs[name], text)
				}
			}
		}
	}
}
