package main

import (
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// constant is the expression of a constant or of a variable of a package, and the file that it is in.
type constant struct {
	file    *goFile
	value   ast.Expr
	goType  string
	isConst bool
}

func constantsOf(owner *goPackage) map[string]constant {
	result := map[string]constant{}
	for _, file := range owner.files {
		for _, declaration := range file.syntax.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				addConstants(file, general, result)
			}
		}
	}
	return result
}

func addConstants(file *goFile, general *ast.GenDecl, result map[string]constant) {
	if general.Tok != token.CONST && general.Tok != token.VAR {
		return
	}
	for _, item := range general.Specs {
		spec := item.(*ast.ValueSpec)
		goType := ""
		if spec.Type != nil {
			goType = types.ExprString(spec.Type)
		}
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				result[name.Name] = constant{file, spec.Values[i], goType, general.Tok == token.CONST}
			}
		}
	}
}

// maxDepth bounds constants that are made of others.
const maxDepth = 20

// text returns the value of an expression that is a string.
func (s *source) text(file *goFile, value ast.Expr) (string, bool) { return s.textAt(file, value, 0) }

func (s *source) textAt(file *goFile, value ast.Expr, depth int) (string, bool) {
	if depth > maxDepth {
		return "", false
	}
	switch value := value.(type) {
	case *ast.BasicLit:
		if value.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(value.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return s.textAt(file, value.X, depth+1)
	case *ast.Ident, *ast.SelectorExpr:
		found, ok := s.constant(file, value)
		if !ok {
			return "", false
		}
		return s.textAt(found.file, found.value, depth+1)
	case *ast.BinaryExpr:
		left, isLeft := s.textAt(file, value.X, depth+1)
		right, isRight := s.textAt(file, value.Y, depth+1)
		return left + right, isLeft && isRight && value.Op == token.ADD
	case *ast.CallExpr:
		return s.callText(file, value, depth)
	}
	return "", false
}

// callText is the value of a conversion such as string(x), or the full name of a metric.
func (s *source) callText(file *goFile, call *ast.CallExpr, depth int) (string, bool) {
	parts := []string{}
	for _, argument := range call.Args {
		part, ok := s.textAt(file, argument, depth+1)
		if !ok {
			return "", false
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	switch name := lastName(call.Fun); {
	case name == "BuildFQName":
		return strings.Join(parts, "_"), true
	case len(call.Args) == 1 && len(parts) == 1 && (name == "string" || name == "Feature" || token.IsExported(name)):
		return parts[0], true
	}
	return "", false
}

// constant returns what a name stands for, in this package or in an imported one.
func (s *source) constant(file *goFile, value ast.Expr) (constant, bool) {
	switch value := value.(type) {
	case *ast.Ident:
		found, ok := file.owner.constants[value.Name]
		return found, ok
	case *ast.SelectorExpr:
		if left, ok := value.X.(*ast.Ident); ok {
			if owner, ok := s.packages[file.imports[left.Name]]; ok {
				found, ok := owner.constants[value.Sel.Name]
				return found, ok
			}
		}
	}
	return constant{}, false
}

// source returns the value of an expression if it is a string, else its text in the source.
func (s *source) source(file *goFile, value ast.Expr) string {
	if text, ok := s.text(file, value); ok {
		return strconv.Quote(text)
	}
	var printed strings.Builder
	if err := printer.Fprint(&printed, token.NewFileSet(), value); err != nil {
		return types.ExprString(value)
	}
	return strings.Join(strings.Fields(printed.String()), " ")
}

// definition is the source of what a name stands for, and of any other expression.
func (s *source) definition(file *goFile, value ast.Expr) string {
	if found, ok := s.constant(file, value); ok {
		return s.source(found.file, found.value)
	}
	return s.source(file, value)
}

// fields has the keyed elements of a composite literal.
func fields(literal *ast.CompositeLit) map[string]ast.Expr {
	result := map[string]ast.Expr{}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				result[key.Name] = pair.Value
			}
		}
	}
	return result
}

// lastName is the last part of a name: Alpha of featuregate.Alpha.
func lastName(value ast.Expr) string {
	switch value := value.(type) {
	case *ast.Ident:
		return value.Name
	case *ast.SelectorExpr:
		return value.Sel.Name
	}
	return ""
}
