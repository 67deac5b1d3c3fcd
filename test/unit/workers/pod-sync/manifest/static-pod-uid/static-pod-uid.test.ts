import { podSyncGatesWith } from '../../../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Draft, Pod } from '../../../../../../src/shared/kubernetes/api.ts';
import { dumpPointer } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/dump.ts';
import { toInternalPod } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/internal-pod.ts';
import { staticPodUID } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/static-pod-uid.ts';
import { aManifest, decodedPod, errorsOf } from '../../../../../support/pods/manifests.ts';

test('a malformed status yields a stable UID', () => {
  const odd = {
    ...aManifest(),
    status: { phase: 5, conditions: 'none', containerStatuses: [null, 3, { resources: { limits: { cpu: 'much' } } }] },
  };
  const { uid } = decodedPod(odd).metadata;
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.equal(decodedPod(odd).metadata.uid, uid);
  assert.notEqual(uid, decodedPod(aManifest()).metadata.uid);
});

test('inherited JavaScript properties do not affect the UID', () => {
  const odd = { ...aManifest(), constructor: { name: 'x' }, toString: 'x' };
  assert.equal(decodedPod(odd).metadata.uid, decodedPod(aManifest()).metadata.uid);
});

test('an oversized status is rejected', () => {
  const containerStatuses = Array.from({ length: 100_001 }, () => 0);
  assert.deepEqual(errorsOf({ ...aManifest(), status: { containerStatuses } }), ['more than 100000 values, which no pod needs']);
});

test('a deeply nested status is rejected', () => {
  const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`;
  const manifest = `${JSON.stringify(aManifest()).slice(0, -1)},"status":${deep}}`;
  assert.deepEqual(errorsOf(manifest), ['nested deeper than 1000 levels, which no pod needs']);
});

test('the dumps of all pods share one budget, and pods beyond it are rejected', () => {
  const [document, pod] = [aManifest(), decodedPod(aManifest()) as Draft<Pod>];
  let characters = 1000;
  dumpPointer('core.Pod', toInternalPod(document, pod, podSyncGatesWith(), false), (piece) => (characters += piece.length));
  const budget = { characters };
  const origin = { source: 'file', origin: '/manifests/web.yaml', nodeName: 'node-1' } as const;
  staticPodUID(document, pod, origin, podSyncGatesWith(), budget);
  assert.throws(
    () => staticPodUID(document, pod, origin, podSyncGatesWith(), budget),
    /^Error: pods of more than 67108864 characters in print/,
  );
});
