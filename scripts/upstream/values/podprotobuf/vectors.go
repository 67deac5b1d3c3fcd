package podprotobuf

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// texts are pods whose JSON is not as Go writes it, and pods with little in them.
var texts = []string{
	`{}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b","uid":"c"},"spec":{"containers":[]}}`,
	`{"metadata":{"name":"null fields","labels":null,"creationTimestamp":null},"spec":{"containers":null,"securityContext":null},"status":null}`,
	`{"metadata":{"name":"times","creationTimestamp":"2026-01-02T03:04:05+02:00","deletionTimestamp":"1969-12-31T23:59:59.75Z"}}`,
	`{"metadata":{"name":"fields","managedFields":[{"manager":"m","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:a":{".":{},"k:{\"b\":1}":{}}}}]}}`,
	`{"metadata":{"name":"order","labels":{"b":"1","a":"2","ä":"3","A":"4","":"5"},"annotations":{"10":"x","9":"y","\ud83d\ude00":"1","\uffee":"2"}}}`,
	`{"metadata":{"name":"unknown","shape":"round"},"spec":{"containers":[{"name":"c","of":{"another":"release"}}]},"more":[1]}`,
	`{"metadata":{"name":"quantities"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"0.5","memory":"1024Mi","a":1,"b":"1e3","c":"0","d":"1.5Gi","e":"100n"}}}]}}`,
	`{"metadata":{"name":"numbers","generation":9007199254740991,"deletionGracePeriodSeconds":-1},"spec":{"priority":-2147483648,"terminationGracePeriodSeconds":0,"containers":[{"name":"c","livenessProbe":{"httpGet":{"port":-5},"initialDelaySeconds":0}},{"name":"d","livenessProbe":{"tcpSocket":{"port":"name"}}}]}}`,
	`{"metadata":{"name":"zeros"},"spec":{"hostNetwork":false,"hostPID":true,"enableServiceLinks":false,"overhead":{},"nodeSelector":{},"volumes":[{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{"sizeLimit":"0"}},{"name":"x"}],"containers":[{"name":"c","command":[""],"args":[],"env":[{"name":"E","value":""}]}]}}`,
	`{"metadata":{"name":"text"},"status":{"message":"a\u0000b\ud83d\ude00 \\ \"","podIP":""}}`,
}

// PrintVectors prints pods, each as JSON and as Go's types encode it: a JSON object on each line.
func PrintVectors(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	print := func(text []byte) error {
		var pod corev1.Pod
		if err := json.Unmarshal(text, &pod); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		encoded, err := pod.Marshal()
		if err != nil {
			return err
		}
		return encoder.Encode(struct {
			JSON     json.RawMessage `json:"json"`
			Protobuf []byte          `json:"protobuf"`
		}{text, encoded})
	}
	for _, text := range texts {
		if err := print([]byte(text)); err != nil {
			return err
		}
	}
	// Every field, then a part of them: a field is set in one of each so many pods.
	for _, every := range []int{1, 2, 3, 5, 7} {
		var pod corev1.Pod
		(&filler{every: every}).fill(reflect.ValueOf(&pod).Elem())
		text, err := json.Marshal(pod)
		if err != nil {
			return err
		}
		if err := print(text); err != nil {
			return err
		}
	}
	return nil
}

// filler sets each n-th field that it meets. Its values differ from each other.
type filler struct {
	every int
	count int
}

func (f *filler) fill(value reflect.Value) {
	f.count++
	switch target := value.Addr().Interface().(type) {
	case *resource.Quantity:
		*target = resource.MustParse(fmt.Sprintf("%d%s", f.count, []string{"", "m", "Mi", "k"}[f.count%4]))
		return
	case *metav1.Time:
		*target = metav1.NewTime(time.Unix(int64(1_700_000_000+f.count), 0))
		return
	case *metav1.FieldsV1:
		target.SetRawString(fmt.Sprintf(`{"f:a":{"f:%d":{}}}`, f.count))
		return
	case *intstr.IntOrString:
		*target = intstr.FromInt32(int32(f.count))
		if f.count%2 == 0 {
			*target = intstr.FromString(fmt.Sprintf("port-%d", f.count))
		}
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(fmt.Sprintf("text %d", f.count))
	case reflect.Bool:
		value.SetBool(f.count%3 != 0)
	case reflect.Int32, reflect.Int64:
		value.SetInt(int64(f.count) * 1000)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		for i := range 2 {
			f.fill(value.Index(i))
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		for range 2 {
			entry := reflect.New(value.Type().Elem()).Elem()
			f.fill(entry)
			value.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key %d", f.count%100)).Convert(value.Type().Key()), entry)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			f.count++
			// Without a tag: the kind and the version.
			if f.count%f.every == 0 && value.Type().Field(i).Tag.Get("protobuf") != "" {
				f.fill(value.Field(i))
			}
		}
	}
}
