import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { list, map, pointer, struct, text, int32 } from '../../../src/shared/kubernetes/schema/types.ts';
import { findBoundsProblems, parseBounds } from '../../support/bounds/bounds-table.ts';
import {
  entranceOfSource,
  messageEntrances,
  objectEntrances,
  podEntrances,
  protocolEntrances,
  type Descriptor,
} from '../../support/bounds/entrances.ts';
import { sizedFields } from '../../support/bounds/schema-fields.ts';
import { table } from '../../support/table.ts';

const root = join(import.meta.dirname, '../../..');
const readSource = (file: string) => readFileSync(join(root, 'src', file), 'utf8');
const protocol = (file: string) => JSON.parse(readFileSync(join(root, 'proto', file), 'utf8')) as Descriptor;

test('every entrance of foreign bytes has a row in docs/bounds.md, whose enforcing files and names exist', () => {
  const files = globSync('**/*.ts', { cwd: join(root, 'src'), exclude: (name) => name === 'generated' });
  const sources = (kind: 'connection' | 'file') => files.filter((file) => entranceOfSource(readSource(file)) === kind);
  const problems = findBoundsProblems({
    rows: parseBounds(readFileSync(join(root, 'docs/bounds.md'), 'utf8')),
    entrances: new Map([
      ['Fields of a pod', podEntrances()],
      ['Other objects of the API server', objectEntrances()],
      ['Replies of the runtime (CRI)', protocolEntrances(protocol('cri-v1.json'), 'responseType')],
      [
        'Requests to the gRPC services',
        ['podresources-v1.json', 'pods-v1alpha1.json'].flatMap((file) => protocolEntrances(protocol(file), 'requestType')),
      ],
      ['Messages between threads', messageEntrances()],
      ['Connections and processes', sources('connection')],
      ['Files and folders', sources('file')],
    ]),
    read: (file) => (files.includes(file) ? readSource(file) : undefined),
  });
  assert.deepEqual(problems, []);
});

const head = '## Things\n| entrance | bound | enforced in | multiplied |\n|---|---|---|---|\n';
const docs: readonly [name: string, row: string, problems: readonly string[]][] = [
  ['a whole row', '| `a`, `b` | 1 MiB | `x.ts`: `maxBytes`; `y.ts` | nothing |', []],
  ['a missing entrance', '| `a` | 1 | `x.ts` | nothing |', ['Things: b has 0 rows instead of one']],
  [
    'an entrance twice',
    '| `a`, `b`, `b` | 1 | `x.ts` | nothing |',
    ['Things: b has 2 rows instead of one', 'Things: b has 2 rows instead of one'].slice(0, 1),
  ],
  ['an unknown entrance', '| `a`, `b`, `c` | 1 | `x.ts` | nothing |', ['Things: there is no c']],
  ['an unknown file', '| `a`, `b` | 1 | `z.ts` | nothing |', ['Things: a: no file z.ts']],
  ['an unknown constant', '| `a`, `b` | 1 | `x.ts`: `minBytes` | nothing |', ['Things: a: x.ts has no minBytes']],
  ['no bound', '| `a`, `b` |  | `x.ts` | nothing |', ['Things: a: a cell is empty']],
];
table('the check of the tables', (row) => {
  for (const [name, line, problems] of docs) {
    row(name, () => {
      const read = (file: string) => ({ 'x.ts': 'const maxBytes = 1;', 'y.ts': '' })[file];
      const found = findBoundsProblems({ rows: parseBounds(head + line), entrances: new Map([['Things', ['a', 'b']]]), read });
      assert.deepEqual(found, problems);
    });
  }
});

const sources: readonly [name: string, text: string, kind: 'connection' | 'file' | undefined][] = [
  ['a connection', "import { connect, isIP } from 'node:net';", 'connection'],
  ['a process', "import {\n  spawn,\n} from 'node:child_process';", 'connection'],
  ['a type', "import type { Agent } from 'undici';", undefined],
  ['a helper of a module', "import { isIP } from 'node:net';", undefined],
  ['a file', "import { readFile } from 'node:fs/promises';\nawait readFile(path)", 'file'],
  ['a handle', 'const handle = await open(path)', 'file'],
  ['a method of that name', 'await this.open(path)', undefined],
];
table('the entrance of a source file', (row) => {
  for (const [name, source, kind] of sources) row(name, () => assert.equal(entranceOfSource(source), kind));
});

test('the sized fields of a schema are listed with their paths', () => {
  const schema = struct({ a: text, b: int32, c: list(pointer(struct({ d: map(text) }))) });
  assert.deepEqual(
    sizedFields(schema).map(({ path, kind }) => `${path.join('.')} ${kind}`),
    ['a text', 'c list', 'c.[].d map', 'c.[].d.{} text'],
  );
});

test('the messages of a protocol are sized by their fields at any depth', () => {
  const type = (name: string, rule?: string) => ({ type: name, ...(rule && { rule }) });
  const nested = {
    Calls: {
      methods: {
        A: { requestType: 'Empty', responseType: 'Deep' },
        B: { requestType: 'Many', responseType: 'Loop' },
      },
    },
    Empty: { fields: { x: type('int32') } },
    Deep: { fields: { inner: type('Text') } },
    Text: { fields: { x: type('string') } },
    Many: { fields: { x: type('int32', 'repeated') } },
    Loop: { fields: { next: type('Loop') } },
  };
  assert.deepEqual(protocolEntrances({ nested: { v1: { nested } } }, 'requestType'), ['Many']);
  assert.deepEqual(protocolEntrances({ nested: { v1: { nested } } }, 'responseType'), ['Deep']);
});
