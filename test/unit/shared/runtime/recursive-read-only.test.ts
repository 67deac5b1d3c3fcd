import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeMount } from '../../../../src/shared/kubernetes/api.ts';
import { recursiveReadOnly, supportsRecursiveReadOnly } from '../../../../src/shared/runtime/recursive-read-only.ts';
import { table } from '../../../support/table.ts';

const mount = (fields: Partial<VolumeMount>): VolumeMount => ({ name: 'v', mountPath: '/v', ...fields });

const rro: readonly [fields: Partial<VolumeMount>, supported: boolean, want: boolean | RegExp][] = [
  [{}, true, false],
  [{ recursiveReadOnly: 'Disabled' }, true, false],
  [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, false, false],
  [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, true, true],
  [{ readOnly: true, recursiveReadOnly: 'Enabled' }, true, true],
  [{ readOnly: true, recursiveReadOnly: 'Enabled' }, false, /not supported by the runtime/],
  [{ recursiveReadOnly: 'IfPossible' }, true, /not read-only/],
  [
    { readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' },
    true,
    /not compatible with propagation "HostToContainer"/,
  ],
  [{ readOnly: true, recursiveReadOnly: 'Perhaps' }, true, /unknown recursive read-only mode "Perhaps"/],
];
table('recursive read-only depends on the mode and the runtime’s support', (row) => {
  for (const [fields, supported, want] of rro) {
    row(`recursive read-only ${JSON.stringify(fields)} on a runtime that ${supported ? 'has' : 'lacks'} it: ${want}`, () => {
      if (typeof want === 'boolean') assert.equal(recursiveReadOnly(mount(fields), supported), want);
      else assert.throws(() => recursiveReadOnly(mount(fields), supported), want);
    });
  }
});

test('a runtime handler has the feature when the runtime reports it', () => {
  const handlers = [
    { name: '', recursiveReadOnlyMounts: true, userNamespaces: false },
    { name: 'old', recursiveReadOnlyMounts: false, userNamespaces: false },
  ];
  assert.deepEqual(
    ['', 'old', 'unknown'].map((handler) => supportsRecursiveReadOnly(handlers, handler)),
    [true, false, false],
  );
  assert.equal(supportsRecursiveReadOnly([], ''), false);
});
