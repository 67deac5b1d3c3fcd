import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPodSpecProblems, podFields } from '../../../scripts/check-pod-spec.ts';
import { table } from '../../support/table.ts';

const source = "test('a pod runs', () => 'image'); table(`in a table`, () => 'tty');";
const problemsOf = (...rows: string[]) =>
  findPodSpecProblems({
    doc: [
      '# Title',
      '| a table of | something else |',
      '### Container, Init',
      '| field | state | test, or part | notes |',
      '|---|---|---|---|',
      ...rows,
    ].join('\n'),
    fields: new Map([
      ['Container', ['image', 'tty']],
      ['Init', ['image', 'tty']],
    ]),
    read: (file) => (file === 'unit/a.test.ts' ? source : undefined),
  });
const image = '| `image` | works | unit/a.test.ts: a pod runs | |';
const tty = '| `tty` | refused | unit/a.test.ts: in a table | with: a message |';

const docs: readonly [name: string, rows: readonly string[], problems: readonly string[]][] = [
  ['one row for each field is valid', [image, tty], []],
  ['one row for all fields is valid', ['| all | later | part | |'], []],
  ['one row for several fields is valid', ['| `image`, `tty` | ignored | scheduler | |'], []],
  ['a missing row', [image], ['Container.tty has 0 rows instead of one', 'Init.tty has 0 rows instead of one']],
  [
    'two rows for a field',
    [image, '| all | later | part | |'],
    ['Container.image has 2 rows instead of one', 'Init.image has 2 rows instead of one'],
  ],
  ['an unknown field', [image, tty, '| `x` | later | part | |'], ['Container has no field x', 'Init has no field x']],
  [
    'an unknown state',
    [image, '| `tty` | done | unit/a.test.ts: in a table | |'],
    ['Container, Init: tty: the state is "done" instead of one of works, refused, later, ignored'],
  ],
  ['no part', [image, '| `tty` | later | | |'], ['Container, Init: tty: no test, or no part']],
  ['a missing file', [image, '| `tty` | works | unit/b.test.ts: x | |'], ['Container, Init: tty: there is no test/unit/b.test.ts']],
  [
    'a missing test',
    [image, '| `tty` | works | unit/a.test.ts: x | |'],
    ['Container, Init: tty: test/unit/a.test.ts has no test named "x" (as its source has it)'],
  ],
  [
    'a file that is about something else',
    ['| `image`, `tty` | works | unit/a.test.ts: a pod runs | |', '### Other', '| `a` | later | part | |'],
    ['the API has no type Other within a pod'],
  ],
];
table('the table of a pod’s fields', (row) => {
  for (const [name, rows, problems] of docs) row(name, () => assert.deepEqual(problemsOf(...rows), problems));
});

test('a test that never mentions the field proves nothing', () => {
  const problems = findPodSpecProblems({
    doc: '### Container\n| `image` | works | unit/a.test.ts: a pod runs | |',
    fields: new Map([['Container', ['image']]]),
    read: () => "test('a pod runs', () => {});",
  });
  assert.deepEqual(problems, ['Container: image: test/unit/a.test.ts never mentions image']);
});

test('the fields are those of a pod, of all types within it, and of embedded types', () => {
  const fields = podFields();
  assert.deepEqual(fields.get('Pod'), ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  assert.deepEqual(fields.get('GRPCAction'), ['port', 'service', 'mode']);
  for (const [type, names] of [
    ['Probe', ['exec', 'httpGet', 'periodSeconds']],
    ['Volume', ['name', 'emptyDir', 'projected']],
    ['EphemeralContainer', ['image', 'targetContainerName']],
    ['ContainerStateTerminated', ['exitCode']],
    ['OwnerReference', ['uid']],
  ] as const) {
    for (const name of names) assert.ok(fields.get(type)?.includes(name), `${type}.${name}`);
  }
});
