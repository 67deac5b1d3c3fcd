/** The program that lists what a version of Kubernetes has, with small modules in place of Kubernetes'. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { listModules, type Inventory } from '../../../scripts/upstream/compare/inventory.ts';
import { table } from '../../support/table.ts';

const files: Readonly<Record<string, string>> = {
  'kubernetes/cmd/kubelet/kubelet.go': `package main
import ("github.com/spf13/pflag"; _ "k8s.io/kubernetes/pkg/features"; "k8s.io/kubernetes/pkg/kubelet"; "k8s.io/kubernetes/pkg/kubelet/metrics")
func flags(fs *pflag.FlagSet) {
	fs.StringVar(&path, "root-dir", "/var/lib/kubelet", "")
	fs.StringVar(&path, "resolv-conf", "", "")
	fs.MarkDeprecated("resolv-conf", "by the file")
	registerDeprecated(global, local, "boot_id_file", "")
	fs.StringVar(&path, name(), "", "")
	kubelet.Run(metrics.Started)
}`,
  'kubernetes/cmd/kubelet/kubelet_windows.go': `package main
func windows(fs *pflag.FlagSet) { fs.BoolVar(&service, "windows-service", false, "") }`,
  'kubernetes/pkg/features/features.go': `package features
import ("k8s.io/apimachinery/pkg/util/version"; "k8s.io/component-base/featuregate")
const (
	First featuregate.Feature = "First"
	Second featuregate.Feature = "Second"
	Third featuregate.Feature = "Third"
	Fourth featuregate.Feature = "Fourth"
)
var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	First: {
		{Version: version.MustParse("1.36"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MajorMinor(1, 37), Default: true, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.38"), Default: true, LockToDefault: true, PreRelease: featuregate.GA},
	},
	Second: {{Version: version.MustParse("1.37"), Default: true, LockToDefault: true, PreRelease: featuregate.GA}},
	Third: {{Version: version.MustParse("1.38"), Default: false, PreRelease: featuregate.Alpha}},
	Fourth: {
		{Version: version.MustParse("1.37"), Default: false, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.37"), Default: true, PreRelease: featuregate.Beta, MinCompatibilityVersion: version.MustParse("1.37")},
	},
}
var defaultFeatureGateDependencies = map[featuregate.Feature][]featuregate.Feature{First: {Second, Fourth}}`,
  'kubernetes/pkg/kubelet/kubelet.go': `package kubelet
import ("time"; "k8s.io/kubernetes/pkg/kubelet/events")
const relistPeriod = 3 * time.Second
func Run(recorder Recorder) {
	recorder.Eventf(ref, "Warning", events.FailedSync, "%v", err)
	recorder.Event(ref, "Normal", "Starting", "")
}`,
  'kubernetes/pkg/kubelet/events/event.go': `package events
const FailedSync = "FailedSync"`,
  'kubernetes/pkg/kubelet/metrics/metrics.go': `package metrics
import ("k8s.io/component-base/metrics"; _ "k8s.io/kubernetes/pkg/kubelet/server")
const subsystem = "kubelet"
var buckets = []float64{1, 2}
var Started = metrics.NewHistogramVec(&metrics.HistogramOpts{
	Subsystem: subsystem, Name: "started_" + "seconds", Help: "h", Buckets: buckets, StabilityLevel: metrics.ALPHA,
}, []string{"reason"})
var used = metrics.NewDesc(metrics.BuildFQName("", subsystem, "used_bytes"), "h", []string{"pod"}, nil, metrics.STABLE, "")`,
  'kubernetes/pkg/kubelet/server/server.go': `package server
const podsPath = "/pods"
func serve() { handle(podsPath); handle("/checkpoint/{podNamespace}") }`,
  'kubernetes/pkg/apis/core/v1/defaults.go': `package v1
func SetDefaults_Pod(obj *v1.Pod) { obj.Spec.EnableServiceLinks = &yes }`,
  'kubernetes/pkg/kubelet/apis/config/v1beta1/defaults.go': `package v1beta1
func SetDefaults_KubeletConfiguration(obj *KubeletConfiguration) { if obj.MaxPods == 0 { obj.MaxPods = 110 } }`,
  'kubernetes/test/utils/image/manifest.go': `package image
var configs = map[ImageID]Config{Agnhost: {list.PromoterE2eRegistry, "agnhost", "2.66.1"}}`,
  'api/core/v1/types.go': `package v1
type Pod struct { Spec PodSpec \`json:"spec,omitempty"\` }
type PodSpec struct {
	Policy RestartPolicy \`json:"restartPolicy"\`
	Ports map[string]*Port \`json:"ports"\`
}
type Port struct { Number int32 \`json:"number"\` }
type RestartPolicy string
const RestartPolicyAlways RestartPolicy = "Always"
type Unused struct { Name string \`json:"name"\` }`,
  'kubelet/config/v1beta1/types.go': `package v1beta1
type KubeletConfiguration struct {
	// maxPods bounds the pods.
	// Default: 110
	// +optional
	MaxPods int32 \`json:"maxPods,omitempty"\`
}`,
  'cri-api/pkg/apis/runtime/v1/api.proto': `syntax = "proto3";
package runtime.v1;
service RuntimeService {
    // RunPodSandbox { starts }
    rpc RunPodSandbox(RunPodSandboxRequest) returns (RunPodSandboxResponse) {}
    rpc GetContainerEvents(GetEventsRequest) returns (stream ContainerEventResponse) {}
}
message Mount {
    string path = 1;
    map<string, string> labels = 2;
    repeated int64 ids = 3 [deprecated = true];
    oneof kind { string image = 4; }
    enum Propagation { PRIVATE = 0; }
}`,
};
const inRelease = (release: string): Promise<Inventory> => {
  const folder = mkdtempSync(join(tmpdir(), 'inventory-'));
  after(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const modules = ['kubernetes', 'api', 'kubelet', 'cri-api'].map((name) => [`k8s.io/${name}`, join(folder, name)] as const);
  return listModules(release, Object.fromEntries(modules));
};
const names = (inventory: Inventory, kind: string) =>
  Object.fromEntries(Object.entries(inventory[kind] ?? {}).map(([name, { is }]) => [name, is]));

const found = await inRelease('1.37');
const cases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  gates: { First: 'Beta, on, needs Fourth, Second', Second: 'GA, on, locked', Fourth: 'Beta, off' },
  flags: {
    'root-dir': 'string, default "/var/lib/kubelet"',
    'resolv-conf': 'string, default "", deprecated',
    'boot-id-file': 'of a library, deprecated',
  },
  configuration: { 'config/v1beta1 KubeletConfiguration.maxPods': 'int32, default: 110' },
  defaults: { 'SetDefaults_Pod: obj.Spec.EnableServiceLinks': '&yes', 'SetDefaults_KubeletConfiguration: obj.MaxPods': '110' },
  types: {
    'core/v1 Pod.spec': 'PodSpec',
    'core/v1 PodSpec.restartPolicy': 'RestartPolicy',
    'core/v1 PodSpec.ports': 'map[string]*Port',
    'core/v1 Port.number': 'int32',
    'core/v1 RestartPolicy "Always"': 'RestartPolicyAlways',
  },
  protobuf: {
    'runtime/v1 RuntimeService.RunPodSandbox': '(RunPodSandboxRequest) returns (RunPodSandboxResponse)',
    'runtime/v1 RuntimeService.GetContainerEvents': '(GetEventsRequest) returns (stream ContainerEventResponse)',
    'runtime/v1 Mount.path': 'string = 1',
    'runtime/v1 Mount.labels': 'map<string, string> = 2',
    'runtime/v1 Mount.ids': 'repeated int64 = 3, deprecated',
    'runtime/v1 Mount.image': 'string = 4',
    'runtime/v1 Mount.Propagation.PRIVATE': '0',
  },
  metrics: {
    kubelet_started_seconds: 'histogram {reason}, ALPHA, buckets []float64{1, 2}',
    kubelet_used_bytes: 'collected {pod}, STABLE',
  },
  reasons: { FailedSync: 'known', Starting: 'known' },
  endpoints: { '/pods': 'handled', '/checkpoint/{podNamespace}': 'handled' },
  images: { agnhost: '2.66.1' },
};
table('an inventory has', (row) => {
  for (const [kind, want] of Object.entries(cases)) row(kind, () => assert.deepEqual(names(found, kind), want));
  row('constants', () => assert.equal(names(found, 'constants')['pkg/kubelet.relistPeriod'], '3 * time.Second'));
  row('the package of each thing', () => assert.equal(found['metrics']?.['kubelet_used_bytes']?.in, 'pkg/kubelet/metrics'));
});

test('a gate has the state of the release', async () => {
  const later = names(await inRelease('1.38'), 'gates');
  assert.deepEqual(later, {
    First: 'GA, on, locked, needs Fourth, Second',
    Second: 'GA, on, locked',
    Third: 'Alpha, off',
    Fourth: 'Beta, on',
  });
});

test('a module that is needed and could not be fetched is an error', async () => {
  await assert.rejects(listModules('1.37', { 'k8s.io/kubernetes': '' }), /go run \. ended with 1/);
});
