import assert from 'node:assert/strict';
import { podObjectBytes } from '../../../../src/main/threads/pod-object-bytes.ts';
import type { PodObjectResult } from '../../../../src/shared/contracts/pod-objects.ts';
import { table } from '../../../support/table.ts';

const value = (object: Extract<PodObjectResult, { outcome: 'value' }>['value']): PodObjectResult => ({ outcome: 'value', value: object });
const cases: [name: string, results: PodObjectResult[], want: number][] = [
  ['nothing', [], 0],
  ['a secret', [value({ kind: 'Secret', uid: 'u', type: 'Opaque', data: { key: 'x'.repeat(100) } })], 135],
  ['a config map', [value({ kind: 'ConfigMap', data: { a: 'x'.repeat(10) }, binaryData: { b: 'x'.repeat(20) } })], 96],
  ['a token', [value({ kind: 'Token', token: 'abc' })], 3],
  ['certificates', [value({ kind: 'TrustAnchors', pem: 'abcd' }), value({ kind: 'Credentials', keyPEM: 'ab', chainPEM: 'c' })], 7],
  ['a failure', [{ outcome: 'failed', failure: { reason: 'NotFound', message: 'gone' } }], 4],
  [
    'services',
    [
      value({
        kind: 'Services',
        services: [{ name: 'dns', namespace: 'n', clusterIP: '::1', ports: [{ name: '', port: 1, protocol: 'TCP' }] }],
      }),
    ],
    99,
  ],
];
table('the size of objects', (row) => {
  for (const [name, results, want] of cases) row(`the size of ${name}`, () => assert.equal(podObjectBytes(results), want));
});
