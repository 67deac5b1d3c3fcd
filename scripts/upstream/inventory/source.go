package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

const kubernetes = "k8s.io/kubernetes"

// kubelet is the program whose packages are listed, with all that they import.
const kubelet = kubernetes + "/cmd/kubelet"

// others are packages that are listed too: they are part of what a kubelet follows, and it does not import them all.
var others = []string{
	kubernetes + "/pkg/apis/core/v1",
	kubernetes + "/pkg/kubelet/apis/config/v1beta1",
	kubernetes + "/test/utils/image",
}

// source has the parsed packages by import path. Packages of other modules than the given ones are absent.
type source struct {
	modules  map[string]string
	packages map[string]*goPackage
}

type goPackage struct {
	path, name string
	files      []*goFile
	constants  map[string]constant
}

type goFile struct {
	owner *goPackage
	// name is that of the file, without its folder.
	name    string
	syntax  *ast.File
	imports map[string]string
}

// linux has the build constraints of the kubelet that this project follows.
func linux() build.Context {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	return context
}

func load(modules map[string]string) (*source, error) {
	from := &source{modules: modules, packages: map[string]*goPackage{}}
	roots := append([]string{kubelet}, others...)
	for module := range modules {
		if module == "k8s.io/api" || module == "k8s.io/kubelet" {
			found, err := from.folders(module)
			if err != nil {
				return nil, err
			}
			roots = append(roots, found...)
		}
	}
	for _, root := range roots {
		if err := from.add(root); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// folder returns the folder of a package, or "" when none of the modules has it. The longest path of a module counts: one may contain another.
func (s *source) folder(importPath string) (string, error) {
	for module := importPath; module != "." && module != "/"; module = path.Dir(module) {
		switch folder, ok := s.modules[module]; {
		case ok && folder == "":
			return "", fmt.Errorf("%s is needed, and its module could not be fetched", importPath)
		case ok:
			return filepath.Join(folder, strings.TrimPrefix(importPath, module)), nil
		}
	}
	return "", nil
}

// folders returns the import paths of all folders of a module.
func (s *source) folders(module string) ([]string, error) {
	root := s.modules[module]
	found := []string{}
	err := filepath.WalkDir(root, func(file string, item os.DirEntry, err error) error {
		if err == nil && item.IsDir() && item.Name() != "testdata" {
			found = append(found, module+strings.TrimPrefix(filepath.ToSlash(file), root))
		}
		return err
	})
	return found, err
}

// add parses a package, and those that it imports.
func (s *source) add(importPath string) error {
	if _, ok := s.packages[importPath]; ok {
		return nil
	}
	folder, err := s.folder(importPath)
	if folder == "" || err != nil {
		return err
	}
	context := linux()
	found, err := context.ImportDir(folder, 0)
	var none *build.NoGoError
	if errors.As(err, &none) {
		return nil
	}
	if err != nil {
		return err
	}
	parsed := &goPackage{path: importPath, name: found.Name}
	s.packages[importPath] = parsed
	for _, imported := range found.Imports {
		if err := s.add(imported); err != nil {
			return err
		}
	}
	for _, name := range found.GoFiles {
		syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed.files = append(parsed.files, &goFile{owner: parsed, name: name, syntax: syntax, imports: s.imports(syntax)})
	}
	parsed.constants = constantsOf(parsed)
	return nil
}

// imports has the import paths of a file by the names that it uses for them.
func (s *source) imports(file *ast.File) map[string]string {
	result := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(imported)
		if known, ok := s.packages[imported]; ok {
			name = known.name
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		result[name] = imported
	}
	return result
}

// below calls visit for each file of the packages at and below these import paths, sorted.
func (s *source) below(visit func(file *goFile), prefixes ...string) {
	names := []string{}
	for name := range s.packages {
		for _, prefix := range prefixes {
			if name == prefix || prefix == "" || strings.HasPrefix(name, prefix+"/") {
				names = append(names, name)
				break
			}
		}
	}
	sort.Strings(names)
	for _, name := range names {
		for _, file := range s.packages[name].files {
			visit(file)
		}
	}
}

// where is the folder of a file as a person names it.
func (f *goFile) where() string {
	return strings.TrimPrefix(strings.TrimPrefix(f.owner.path, kubernetes+"/"), "k8s.io/")
}
