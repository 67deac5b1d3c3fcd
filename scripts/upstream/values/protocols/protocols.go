// Package protocols prints the descriptors of the wire protocols: names, numbers and types, in the JSON form of protobufjs.
package protocols

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	devicesapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registrationapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	podsapi "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// files are the protocols by the name of their descriptor.
var files = map[string]protoreflect.FileDescriptor{
	"cri-v1":                runtimeapi.File_staging_src_k8s_io_cri_api_pkg_apis_runtime_v1_api_proto,
	"deviceplugin-v1beta1":  devicesapi.File_staging_src_k8s_io_kubelet_pkg_apis_deviceplugin_v1beta1_api_proto,
	"pluginregistration-v1": registrationapi.File_staging_src_k8s_io_kubelet_pkg_apis_pluginregistration_v1_api_proto,
	"podresources-v1":       podresourcesapi.File_staging_src_k8s_io_kubelet_pkg_apis_podresources_v1_api_proto,
	"pods-v1alpha1":         podsapi.File_staging_src_k8s_io_kubelet_pkg_apis_pods_v1alpha1_api_proto,
}

// Print prints the descriptor of a protocol.
func Print(out io.Writer, name string) error {
	file, ok := files[name]
	if !ok {
		return fmt.Errorf("no protocol is called %q", name)
	}
	nested := members{}
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		nested.add(string(service.Name()), members{{"methods", methods(service)}})
	}
	nested = append(nested, types(file.Enums(), file.Messages())...)
	var scope any = members{{"nested", nested}}
	parts := strings.Split(string(file.Package()), ".")
	for i := len(parts) - 1; i >= 0; i-- {
		scope = members{{"nested", members{{parts[i], scope}}}}
	}
	text, err := json.MarshalIndent(scope, "", " ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, string(text))
	return err
}

func types(enums protoreflect.EnumDescriptors, messages protoreflect.MessageDescriptors) members {
	result := members{}
	for i := range enums.Len() {
		enum := enums.Get(i)
		values := members{}
		for j := range enum.Values().Len() {
			values.add(string(enum.Values().Get(j).Name()), enum.Values().Get(j).Number())
		}
		result.add(string(enum.Name()), members{{"values", values}})
	}
	for i := range messages.Len() {
		message := messages.Get(i)
		if message.IsMapEntry() {
			continue
		}
		fields := members{}
		for j := range message.Fields().Len() {
			fields.add(string(message.Fields().Get(j).Name()), field(message, message.Fields().Get(j)))
		}
		content := members{{"fields", fields}}
		if inner := types(message.Enums(), message.Messages()); len(inner) > 0 {
			content.add("nested", inner)
		}
		result.add(string(message.Name()), content)
	}
	return result
}

func field(message protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) members {
	result := members{}
	switch {
	case field.IsMap():
		result.add("keyType", typeName(message, field.MapKey()))
		result.add("type", typeName(message, field.MapValue()))
	case field.IsList():
		result.add("rule", "repeated")
		result.add("type", typeName(message, field))
	default:
		result.add("type", typeName(message, field))
	}
	result.add("id", field.Number())
	if field.HasOptionalKeyword() {
		result.add("options", members{{"proto3_optional", true}})
	}
	return result
}

// typeName is a name within the package, or a full one of another package.
func typeName(message protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) string {
	var full protoreflect.FullName
	switch {
	case field.Message() != nil:
		full = field.Message().FullName()
	case field.Enum() != nil:
		full = field.Enum().FullName()
	default:
		return field.Kind().String()
	}
	return strings.TrimPrefix(string(full), string(message.ParentFile().Package())+".")
}

func methods(service protoreflect.ServiceDescriptor) members {
	result := members{}
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		content := members{{"requestType", method.Input().Name()}, {"responseType", method.Output().Name()}}
		if method.IsStreamingClient() {
			content.add("requestStream", true)
		}
		if method.IsStreamingServer() {
			content.add("responseStream", true)
		}
		result.add(string(method.Name()), content)
	}
	return result
}

// members are those of a JSON object, in their order.
type members []member

type member struct {
	name  string
	value any
}

func (m *members) add(name string, value any) { *m = append(*m, member{name, value}) }

func (m members) MarshalJSON() ([]byte, error) {
	var text strings.Builder
	text.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			text.WriteByte(',')
		}
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%q:%s", one.name, value)
	}
	text.WriteByte('}')
	return []byte(text.String()), nil
}
