import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPodSpecProblems, podFields } from '../../../scripts/check-pod-spec.ts';
import { goTypes } from '../../../src/shared/manifest/static-pod-uid/generated/go-types.ts';
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

/** In Go’s internal types these fields of the spec are part of the security context. */
const movedFields = ['hostNetwork', 'hostPID', 'hostIPC', 'hostUsers', 'shareProcessNamespace'];

test('the fields are those of the Go types of v1.36.3', () => {
  const fields = podFields();
  const goFields = (type: string): string[] => {
    const goType = goTypes[type];
    assert.ok(goType?.kind === 'struct');
    return goType.fields.flatMap(([, fieldType, json]) => (json === '...' ? goFields(fieldType) : [json ?? '']));
  };
  let compared = 0;
  for (const [type, names] of fields) {
    const goName = [`core.${type}`, `v1.${type}`].find((name) => Object.hasOwn(goTypes, name));
    if (goName === undefined || type === 'Pod') continue;
    const expected = new Set(goFields(goName).filter((name) => type !== 'PodSecurityContext' || !movedFields.includes(name)));
    if (type === 'PodSpec') for (const name of [...movedFields, 'serviceAccount']) expected.add(name);
    if (type === 'PodStatus') expected.add('podIP');
    assert.deepEqual(new Set(names), expected, type);
    compared += 1;
  }
  assert.equal(compared, fields.size - 1);
});
