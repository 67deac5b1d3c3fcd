import assert from 'node:assert/strict';
import { userNamespaceProblem } from '../../../../../src/main/allocation/user-namespaces/handler-support.ts';
import type { RuntimeHandler } from '../../../../../src/shared/contracts/node-info.ts';
import { table } from '../../../../support/table.ts';

const without = { recursiveReadOnlyMounts: true, userNamespaces: false };
const withSupport = { ...without, userNamespaces: true };
const start = "can't set `spec.hostUsers: false`, ";

const rows: readonly [name: string, handlers: RuntimeHandler[], handler: string, want: string | null][] = [
  ['the default handler has it', [{ name: '', ...withSupport }], '', null],
  [
    'a named handler has it',
    [
      { name: '', ...without },
      { name: 'kata', ...withSupport },
    ],
    'kata',
    null,
  ],
  ['the default handler lacks it', [{ name: '', ...without }], '', `${start}runtime does not support user namespaces`],
  [
    'a named handler lacks it',
    [
      { name: '', ...withSupport },
      { name: 'kata', ...without },
    ],
    'kata',
    `${start}RuntimeClass handler "kata" does not support user namespaces`,
  ],
  ['a runtime that reports no handlers', [], '', `${start}runtime does not support user namespaces`],
  ['the same, for a named handler', [], 'kata', `${start}RuntimeClass handler "kata" does not support user namespaces`],
  [
    'an unknown handler',
    [{ name: '', ...withSupport }],
    'kata',
    `${start}RuntimeClass handler "kata" does not support user namespaces: the handler "kata" is not known`,
  ],
];

table('a pod with a user namespace needs a runtime handler with support', (row) => {
  for (const [name, handlers, handler, want] of rows) row(name, () => assert.equal(userNamespaceProblem(handlers, handler), want));
});
