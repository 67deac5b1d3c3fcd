import { podSyncGatesWith } from '../../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec, Volume } from '../../../../../src/shared/kubernetes/api.ts';
import { defaultPod, type DraftPod } from '../../../../../src/workers/pod-sync/manifest/defaults/default-pod.ts';
import { aManifest, decodedPod } from '../../../../support/pods/manifests.ts';
import type { ManifestGates } from '../../../../../src/workers/pod-sync/manifest/manifest-gates.ts';
import { table } from '../../../../support/table.ts';

/** Applies defaults directly, also to fields that static pods cannot have. */
function defaulted(spec: Partial<PodSpec>, gates: Partial<ManifestGates> = {}): PodSpec {
  const pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { containers: [{ name: 'main', image: 'web:1' }], ...spec },
  } as DraftPod;
  defaultPod(pod, podSyncGatesWith(gates));
  return pod.spec;
}
const container = (fields: Partial<Container>): Container | undefined =>
  defaulted({ containers: [{ name: 'main', image: 'web:1', ...fields }] }).containers[0];
const volume = (fields: object): Volume | undefined => defaulted({ volumes: [{ name: 'v', ...fields }] }).volumes?.[0];

test('a minimal pod gets all defaults', () => {
  const { containers, ...rest } = decodedPod(aManifest()).spec;
  assert.deepEqual(rest, {
    nodeName: 'node-1',
    tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    terminationGracePeriodSeconds: 30,
    schedulerName: 'default-scheduler',
    securityContext: {},
    enableServiceLinks: true,
  });
  assert.deepEqual(containers, [
    {
      name: 'main',
      image: 'registry.example/web:1',
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    },
  ]);
});

const policies: readonly [image: string, policy: string][] = [
  ['web', 'Always'],
  ['web:latest', 'Always'],
  ['web:1', 'IfNotPresent'],
  ['host:5000/web', 'Always'],
  ['host:5000/web:1', 'IfNotPresent'],
  [`web@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
  [`web:latest@sha256:${'0'.repeat(64)}`, 'Always'],
  ['Not An Image', 'IfNotPresent'],
];
table('the default pull policy of an image', (row) => {
  for (const [image, policy] of policies) {
    row(`the image ${image} has the pull policy ${policy}`, () => assert.equal(container({ image })?.imagePullPolicy, policy));
  }
});

test('a probe gets default numbers, an HTTP action a default path and scheme', () => {
  const numbers = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  const fields = container({
    livenessProbe: { httpGet: { port: 80 as never } },
    readinessProbe: { grpc: { port: 1 }, periodSeconds: 5 },
    lifecycle: { preStop: { httpGet: { port: 81 as never } } },
  });
  assert.deepEqual(fields?.livenessProbe, { httpGet: { port: 80, path: '/', scheme: 'HTTP' }, ...numbers });
  assert.deepEqual(fields?.readinessProbe, { grpc: { port: 1, service: '' }, ...numbers, periodSeconds: 5 });
  assert.deepEqual(fields?.lifecycle, { preStop: { httpGet: { port: 81, path: '/', scheme: 'HTTP' } } });
});

test('a limit without a request becomes the request', () => {
  assert.deepEqual(container({ resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } } })?.resources?.requests, {
    cpu: '500m',
    memory: '1Gi',
  });
});

test('resources are rounded up to thousandths', () => {
  assert.deepEqual(container({ resources: { requests: { cpu: '100u', memory: '1.5' } } })?.resources?.requests, {
    cpu: '1m',
    memory: '1.5',
  });
});

test("in the host's network a container's port is the host's", () => {
  const ports = [{ containerPort: 80 }, { containerPort: 81, hostPort: 82 }];
  const spec = defaulted({ hostNetwork: true, containers: [{ name: 'main', ports }] });
  assert.deepEqual(spec.containers[0]?.ports, [
    { containerPort: 80, hostPort: 80, protocol: 'TCP' },
    { containerPort: 81, hostPort: 82, protocol: 'TCP' },
  ]);
});

test('a negative grace period is one second', () =>
  assert.equal(defaulted({ terminationGracePeriodSeconds: -5 }).terminationGracePeriodSeconds, 1));

test('the deprecated service account field sets the current one', () => {
  assert.equal(defaulted({ serviceAccount: 'robot' }).serviceAccountName, 'robot');
  assert.equal(defaulted({ serviceAccountName: 'robot' }).serviceAccount, 'robot');
});

const volumes: readonly [source: object, want: object][] = [
  [{}, { emptyDir: {} }],
  [{ hostPath: { path: '/x' } }, { hostPath: { path: '/x', type: '' } }],
  [{ secret: {} }, { secret: { defaultMode: 0o644 } }],
  [{ configMap: {} }, { configMap: { defaultMode: 0o644 } }],
  [
    { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f' } }] } },
    { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f', apiVersion: 'v1' } }], defaultMode: 0o644 } },
  ],
  [
    { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
    { projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }], defaultMode: 0o644 } },
  ],
  [{ image: { reference: 'data' } }, { image: { reference: 'data', pullPolicy: 'Always' } }],
  [{ rbd: {} }, { rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } }],
  [{ iscsi: {} }, { iscsi: { iscsiInterface: 'default' } }],
  [{ scaleIO: {} }, { scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' } }],
  [{ azureDisk: {} }, { azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' } }],
];
table('a volume gets its defaults', (row) => {
  for (const [source, want] of volumes) {
    row(`a volume of ${JSON.stringify(source)} gets its defaults`, () => assert.deepEqual(volume(source), { name: 'v', ...want }));
  }
});

const podLevel: readonly [name: string, spec: Partial<PodSpec>, want: object][] = [
  [
    'requests the sum of its containers',
    { containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }], resources: { limits: { cpu: '4', memory: '1Gi' } } },
    { limits: { cpu: '4', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
  ],
  [
    'has the hugepages of its containers',
    { containers: [{ name: 'a', resources: { limits: { 'hugepages-2Mi': '4Mi' } } }], resources: { limits: { cpu: '1' } } },
    { limits: { cpu: '1', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '1', 'hugepages-2Mi': '4Mi' } },
  ],
];
for (const [name, spec, want] of podLevel) {
  test(`without PodLevelResourcesFixDefaulting a pod with pod-level limits ${name}`, () =>
    assert.deepEqual(defaulted(spec, { PodLevelResourcesFixDefaulting: false }).resources, want));
}

const protocols: readonly [name: string, action: object, gates: Partial<ManifestGates>, want: string | undefined][] = [
  ['with the gate', { port: 80 }, { H2CContainerProbe: true }, 'HTTP1'],
  ['without the gate', { port: 80 }, {}, undefined],
  ['that the manifest has', { port: 80, protocol: 'HTTP2' }, {}, 'HTTP2'],
];
table('the protocol of an HTTP probe, and of an HTTP hook', (row) => {
  for (const [name, action, gates, want] of protocols) {
    row(name, () => {
      const fields = { livenessProbe: { httpGet: action }, lifecycle: { preStop: { httpGet: action } } } as Partial<Container>;
      const [main] = defaulted({ containers: [{ name: 'main', image: 'web:1', ...fields }] }, gates).containers;
      assert.deepEqual([main?.livenessProbe?.httpGet?.protocol, main?.lifecycle?.preStop?.httpGet?.protocol], [want, want]);
    });
  }
});
