// Package histograms prints histograms of Prometheus' client library with the options of component-base, in the protobuf format.
package histograms

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"math/rand"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The options of component-base/metrics/internal/nativehistograms.go, which is internal.
const (
	bucketFactor = 1.1
	maxBuckets   = 160
)

// createdAt replaces the time at which a histogram was made.
var createdAt = time.UnixMilli(1_700_000_000_123)

type vector struct {
	Name string `json:"name"`
	// Values have Go's spelling: JSON has no infinity.
	Values []string `json:"values"`
	Bytes  string   `json:"bytes"`
}

// Print writes one JSON object a line: the observed values, and the family that has them.
func Print(out io.Writer) error {
	encoder := json.NewEncoder(out)
	for _, each := range cases() {
		family, err := observe(each.values)
		if err != nil {
			return err
		}
		encoded := &bytes.Buffer{}
		if err := expfmt.NewEncoder(encoded, expfmt.NewFormat(expfmt.TypeProtoDelim)).Encode(family); err != nil {
			return err
		}
		values := make([]string, len(each.values))
		for i, value := range each.values {
			values[i] = strconv.FormatFloat(value, 'g', -1, 64)
		}
		if err := encoder.Encode(vector{each.name, values, base64.StdEncoding.EncodeToString(encoded.Bytes())}); err != nil {
			return err
		}
	}
	return nil
}

func observe(values []float64) (*dto.MetricFamily, error) {
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:                           "latency_seconds",
		Help:                           "Latency\nin \"seconds\".",
		ConstLabels:                    prometheus.Labels{"operation": "a\"\\é"},
		Buckets:                        prometheus.DefBuckets,
		NativeHistogramBucketFactor:    bucketFactor,
		NativeHistogramMaxBucketNumber: maxBuckets,
	})
	for _, value := range values {
		histogram.Observe(value)
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(histogram); err != nil {
		return nil, err
	}
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	families[0].Metric[0].Histogram.CreatedTimestamp = timestamppb.New(createdAt)
	return families[0], nil
}

type testCase struct {
	name   string
	values []float64
}

func cases() []testCase {
	all := []testCase{
		{"no value", nil},
		{"zero", []float64{0, math.Copysign(0, -1), math.Ldexp(1, -128), math.Ldexp(1, -129), -math.Ldexp(1, -200)}},
		{"negative values", []float64{-1, -0.5, -3.2, 0.5, 0}},
		{"infinity", []float64{math.Inf(1), math.MaxFloat64}},
		{"negative infinity", []float64{math.Inf(-1), -math.MaxFloat64}},
		{"gaps", []float64{1, 1.2, 1.5, 2, 3, 5, 100, 1e6}},
	}
	bounds := []float64{}
	for i := -40; i <= 40; i++ {
		bound := math.Exp2(float64(i) / 8)
		bounds = append(bounds, bound, math.Nextafter(bound, 0), math.Nextafter(bound, math.Inf(1)))
	}
	all = append(all, testCase{"bounds of buckets", bounds})
	random := rand.New(rand.NewSource(1))
	spread := func(count int, width float64, sign bool) []float64 {
		values := make([]float64, count)
		for i := range values {
			values[i] = math.Exp2((random.Float64() - 0.5) * width)
			if sign && random.Intn(2) == 0 {
				values[i] = -values[i]
			}
		}
		return values
	}
	for _, width := range []float64{4, 20, 40, 80, 160, 800} {
		name := strconv.FormatFloat(width, 'g', -1, 64) + " powers of two"
		all = append(all, testCase{name, spread(300, width, false)}, testCase{name + ", both signs", spread(300, width, true)})
	}
	return all
}
