import assert from 'node:assert/strict';
import { checkExports, type SharedName } from '../../../scripts/names/check-exports.ts';
import { checkLiterals } from '../../../scripts/names/check-literals.ts';
import { checkLiveView } from '../../../scripts/names/check-live-view.ts';
import { table } from '../../support/table.ts';

const shared: SharedName = { name: 'run', files: ['src/b.ts', 'src/a.ts'], reason: 'one calls the other' };
const twice = { 'src/a.ts': 'export function run(): void {}\n', 'src/b.ts': 'export async function run(): Promise<void> {}\n' };

const cases: { name: string; sources: Record<string, string>; shared?: SharedName[]; want: readonly RegExp[] }[] = [
  { name: 'different names', sources: { 'src/a.ts': 'export const a = 1;\n', 'src/b.ts': 'export const b = 1;\n' }, want: [] },
  { name: 'one name twice', sources: twice, want: [/^run is exported by src\/a\.ts and src\/b\.ts: /] },
  {
    name: 'a type and a value',
    sources: { 'src/a.ts': 'export interface Run {}\n', 'src/b.ts': 'export abstract class Run {}\n' },
    want: [/^Run is exported by /],
  },
  {
    name: 'overloads, a type with the name of its value, and names that are not exported',
    sources: {
      'src/a.ts':
        'export function run(a: string): void;\nexport function run(a: number): void;\nexport const State = 1;\nexport type State = 1;\n',
      'src/b.ts': 'function run(): void {}\n',
    },
    want: [],
  },
  { name: 'a re-export', sources: { 'src/a.ts': 'export const run = 1;\n', 'src/b.ts': "export { run } from './a.ts';\n" }, want: [] },
  { name: 'a name with a reason', sources: twice, shared: [shared], want: [] },
  {
    name: 'a third file with that name',
    sources: { ...twice, 'src/c.ts': 'export const run = 1;\n' },
    shared: [shared],
    want: [/^run is exported by src\/a\.ts and src\/b\.ts and src\/c\.ts: /],
  },
  { name: 'a name without a reason', sources: twice, shared: [{ ...shared, reason: '' }], want: [/without a reason$/] },
  {
    name: 'a reason that nothing needs',
    sources: { 'src/a.ts': twice['src/a.ts'] },
    shared: [shared],
    want: [/^run is not exported twice/],
  },
  {
    name: 'doors',
    sources: {
      'src/main/a/index.ts': "/** A part. */\n// A remark.\nexport { A,\n  type B } from './a.ts';\nexport type * from './c.ts';\n",
      'src/shared/b/index.ts': "export * from './b.ts';\n",
    },
    want: [],
  },
  {
    name: 'an index.ts that implements',
    sources: { 'src/workers/stats/oom/index.ts': "export { A } from './a.ts';\nexport class Oom {}\n" },
    want: [/^src\/workers\/stats\/oom\/index\.ts implements something: /],
  },
  {
    name: 'the entries of a thread and of the helper',
    sources: { 'src/workers/stats/index.ts': 'start();\n', 'src/helper/index.ts': 'start();\n' },
    want: [],
  },
];

table('exports', (row) => {
  for (const { name, sources, shared: allowed = [], want } of cases)
    row(name, () => {
      const problems = checkExports(new Map(Object.entries(sources)), allowed);
      assert.equal(problems.length, want.length, problems.join('\n'));
      for (const [index, pattern] of want.entries()) assert.match(problems[index]!, pattern);
    });
});

table('values with one file', (row) => {
  const owned = [{ literal: "'Waiting'", file: 'src/a.ts' }];
  const check = (sources: Record<string, string>) => checkLiterals(new Map(Object.entries(sources)), owned);
  row('in its file, and in comments of others', () =>
    assert.deepEqual(
      check({ 'src/a.ts': "const a = 'Waiting';", 'src/b.ts': "/** As 'Waiting'. */\n// 'Waiting'\nconst url = 'http://b';" }),
      [],
    ),
  );
  row('in another file', () =>
    assert.deepEqual(check({ 'src/a.ts': "const a = 'Waiting';", 'src/b.ts': "const b = 'Waiting';" }), [
      "src/b.ts: import 'Waiting' from src/a.ts",
    ]),
  );
  row('nowhere', () =>
    assert.deepEqual(check({ 'src/a.ts': '' }), ["src/a.ts does not have 'Waiting': correct scripts/names/owned-literals.ts"]),
  );
});

table('copies of live settings', (row) => {
  const check = (text: string) => checkLiveView(new Map([['src/a.ts', text]]));
  row('the whole view', () => assert.deepEqual(check('start({ config: options.live.view });\nconst config = live.view;'), []));
  row('a field', () =>
    assert.deepEqual(check('start({ qps: options.live.view.kubeAPIQPS });'), [
      'src/a.ts: kubeAPIQPS would be a copy of a field that a reload changes: pass live.view as a whole',
    ]),
  );
  row('a destructured field', () => assert.equal(check('const { kubeAPIQPS } = options.live.view;').length, 1));
  row('a field of an alias', () =>
    assert.equal(check('const config = options.live.view;\nstart({ qps: config.kubeAPIQPS, pods: options.config.maxPods });').length, 1),
  );
  row('a destructured field of an alias', () =>
    assert.equal(
      check('const config: KubeletConfiguration = live.view;\nconst { kubeAPIQPS } = config;\nconst { maxPods } = config.fixed;').length,
      2,
    ),
  );
});
