package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

const api = "k8s.io/api/"

// followed are the objects of the API that a kubelet reads or writes, by package.
var followed = map[string][]string{
	api + "core/v1":           {"Pod", "Node", "Event", "Secret", "ConfigMap", "Service", "PersistentVolume", "PersistentVolumeClaim"},
	api + "coordination/v1":   {"Lease"},
	api + "certificates/v1":   {"CertificateSigningRequest", "PodCertificateRequest", "ClusterTrustBundle"},
	api + "authentication/v1": {"TokenReview", "TokenRequest"},
	api + "authorization/v1":  {"SubjectAccessReview"},
	api + "node/v1":           {"RuntimeClass"},
	api + "resource/v1":       {"ResourceClaim", "ResourceSlice"},
	api + "storage/v1":        {"CSIDriver", "CSINode", "VolumeAttachment"},
	// The summary of the statistics, which the kubelet serves.
	"k8s.io/kubelet/pkg/apis/stats/v1alpha1": {"Summary"},
}

// apiTypes are the fields and the values of all types within the objects that a kubelet follows.
func apiTypes(from *source) kind {
	result := kind{}
	for path, names := range followed {
		if owner, ok := from.packages[path]; ok {
			for _, name := range names {
				walk{from, result, map[string]bool{}}.add(owner, name)
			}
		}
	}
	return result
}

// configuration are the fields of the configuration files that a kubelet reads, and of what credential providers exchange with it.
func configuration(from *source) kind {
	result := kind{}
	from.below(func(file *goFile) {
		for name, declared := range typesOf(file) {
			if structure, ok := declared.Type.(*ast.StructType); ok {
				for _, field := range fieldsOf(structure) {
					is := field.goType
					if field.documented != "" {
						is += ", default: " + field.documented
					}
					result.add(shortPath(file.owner.path)+" "+name+"."+field.name, is, file.where())
				}
			}
		}
	}, "k8s.io/kubelet/config", "k8s.io/kubelet/pkg/apis/credentialprovider")
	return result
}

// walk visits the types that a type has within it. Types of other modules than the API are not visited.
type walk struct {
	from   *source
	result kind
	seen   map[string]bool
}

func (w walk) add(owner *goPackage, name string) {
	if w.seen[owner.path+"."+name] {
		return
	}
	w.seen[owner.path+"."+name] = true
	for _, file := range owner.files {
		declared, ok := typesOf(file)[name]
		if !ok {
			continue
		}
		structure, ok := declared.Type.(*ast.StructType)
		if !ok {
			w.addValues(owner, name)
			w.visit(file, declared.Type)
			continue
		}
		for _, field := range fieldsOf(structure) {
			w.result.add(shortPath(owner.path)+" "+name+"."+field.name, field.goType, file.where())
			w.visit(file, field.expression)
		}
	}
}

// addValues adds the constants of a type of strings.
func (w walk) addValues(owner *goPackage, name string) {
	for constantName, found := range owner.constants {
		if found.goType != name {
			continue
		}
		if text, ok := w.from.text(found.file, found.value); ok {
			w.result.add(shortPath(owner.path)+" "+name+" "+strconv.Quote(text), constantName, found.file.where())
		}
	}
}

func (w walk) visit(file *goFile, expression ast.Expr) {
	switch expression := expression.(type) {
	case *ast.Ident:
		if token.IsExported(expression.Name) {
			w.add(file.owner, expression.Name)
		}
	case *ast.SelectorExpr:
		if left, ok := expression.X.(*ast.Ident); ok {
			if owner, ok := w.from.packages[file.imports[left.Name]]; ok && strings.HasPrefix(owner.path, "k8s.io/api") {
				w.add(owner, expression.Sel.Name)
			}
		}
	case *ast.StarExpr:
		w.visit(file, expression.X)
	case *ast.ArrayType:
		w.visit(file, expression.Elt)
	case *ast.MapType:
		w.visit(file, expression.Key)
		w.visit(file, expression.Value)
	}
}

// shortPath is the end of the path of a package: core/v1.
func shortPath(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

func typesOf(file *goFile) map[string]*ast.TypeSpec {
	result := map[string]*ast.TypeSpec{}
	for _, declaration := range file.syntax.Decls {
		if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.TYPE {
			for _, spec := range general.Specs {
				result[spec.(*ast.TypeSpec).Name.Name] = spec.(*ast.TypeSpec)
			}
		}
	}
	return result
}

type structField struct {
	// name is that in JSON, or in Go where JSON has none.
	name, goType, documented string
	expression               ast.Expr
}

func fieldsOf(structure *ast.StructType) []structField {
	result := []structField{}
	for _, field := range structure.Fields.List {
		names := []string{types.ExprString(field.Type)}
		if len(field.Names) > 0 {
			names = nil
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		if field.Tag != nil {
			tag, _ := strconv.Unquote(field.Tag.Value)
			if json, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); json != "" {
				names = []string{json}
			}
		}
		for _, name := range names {
			result = append(result, structField{name, types.ExprString(field.Type), documentedDefault(field.Doc.Text()), field.Type})
		}
	}
	return result
}

// documentedDefault is the rest of the paragraph after "Default:" in the comment of a field.
func documentedDefault(comment string) string {
	_, after, found := strings.Cut(comment, "Default:")
	if !found {
		return ""
	}
	paragraph, _, _ := strings.Cut(after, "\n\n")
	paragraph, _, _ = strings.Cut(paragraph, "\n+")
	return strings.Join(strings.Fields(paragraph), " ")
}
