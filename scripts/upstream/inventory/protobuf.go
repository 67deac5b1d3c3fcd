package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	comment   = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	statement = regexp.MustCompile(`[^{};]*[{};]`)
	block     = regexp.MustCompile(`^(message|enum|service|oneof) (\w+) ?\{$`)
	rpc       = regexp.MustCompile(`^rpc (\w+) ?\((.*?)\) ?returns ?\((.*?)\) ?[{;]$`)
	field     = regexp.MustCompile(`^((?:repeated |optional )?(?:map ?<[^>]*>|[\w.]+)) (\w+) ?= ?(\d+)(.*);$`)
	value     = regexp.MustCompile(`^(\w+) ?= ?(-?\d+)(.*);$`)
)

// protocols are the messages and calls of CRI and of the protocols between a kubelet and its plugins.
func protocols(from *source) (kind, error) {
	result := kind{}
	for _, module := range []string{"k8s.io/cri-api", "k8s.io/kubelet"} {
		root := from.modules[module]
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(file string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".proto" {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), root+"/")
			addProtocol(string(text), shortPath(folder), strings.TrimPrefix(module, "k8s.io/")+"/"+folder, result)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

func addProtocol(text, name, in string, result kind) {
	scope := []string{}
	// The type of each open block: "" for the body of a call.
	open := []string{}
	for _, raw := range statement.FindAllString(comment.ReplaceAllString(text, ""), -1) {
		one := strings.Join(strings.Fields(raw), " ")
		full := func(member string) string {
			return name + " " + strings.Join(append(scope[:len(scope):len(scope)], member), ".")
		}
		if found := rpc.FindStringSubmatch(one); found != nil {
			result.add(full(found[1]), "("+found[2]+") returns ("+found[3]+")", in)
			if strings.HasSuffix(one, "{") {
				open = append(open, "")
			}
			continue
		}
		switch found := block.FindStringSubmatch(one); {
		case found != nil:
			open = append(open, found[1])
			// The fields of a oneof are those of its message.
			if found[1] != "oneof" {
				scope = append(scope, found[2])
			}
		case strings.HasSuffix(one, "{"):
			open = append(open, "")
		case strings.HasSuffix(one, "}") && len(open) > 0:
			if last := open[len(open)-1]; last != "" && last != "oneof" {
				scope = scope[:len(scope)-1]
			}
			open = open[:len(open)-1]
		case len(scope) > 0:
			if found := field.FindStringSubmatch(one); found != nil {
				result.add(full(found[2]), found[1]+" = "+found[3]+deprecation(found[4]), in)
			} else if found := value.FindStringSubmatch(one); found != nil {
				result.add(full(found[1]), found[2]+deprecation(found[3]), in)
			}
		}
	}
}

func deprecation(options string) string {
	if strings.Contains(strings.ReplaceAll(options, " ", ""), "deprecated=true") {
		return ", deprecated"
	}
	return ""
}
