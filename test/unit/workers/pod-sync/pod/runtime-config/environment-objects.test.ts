import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodObjectResult } from '../../../../../../src/shared/contracts/pod-objects.ts';
import type { EnvVar } from '../../../../../../src/shared/kubernetes/api.ts';
import { readEnvironmentObjects } from '../../../../../../src/workers/pod-sync/pod/runtime-config/environment-objects.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';

const failed = (reason: string, message: string): PodObjectResult => ({ outcome: 'failed', failure: { reason, message } });
const keyRef = (kind: 'configMapKeyRef' | 'secretKeyRef', name: string, key: string): EnvVar => ({
  name: 'V',
  valueFrom: { [kind]: { name, key } },
});

test('the API objects of an environment are requested in one message, each object once', async () => {
  const container = aContainer({
    env: [keyRef('configMapKeyRef', 'cm', 'a'), keyRef('configMapKeyRef', 'cm', 'b'), keyRef('secretKeyRef', 's', 'k')],
    envFrom: [{ secretRef: { name: 's' } }, { configMapRef: { name: 'other' } }],
  });
  const requested: unknown[] = [];
  const objects = await readEnvironmentObjects(
    async (refs) => {
      requested.push(...refs);
      return refs.map((ref) => failed('NotFound', 'name' in ref ? ref.name : ref.kind));
    },
    aPod({ spec: { enableServiceLinks: false } }),
    container,
  );
  assert.deepEqual(requested, [
    { kind: 'Services', namespace: 'default', links: false },
    { kind: 'ConfigMap', namespace: 'default', name: 'other' },
    { kind: 'ConfigMap', namespace: 'default', name: 'cm' },
    { kind: 'Secret', namespace: 'default', name: 's' },
  ]);
  assert.deepEqual([...objects.configMaps.keys(), ...objects.secrets.keys()], ['other', 'cm', 's']);
  assert.deepEqual(objects.secrets.get('s'), failed('NotFound', 's'));
});
