import assert from 'node:assert/strict';
import { findDurationProblems, type DurationsInput } from '../../../scripts/check-durations.ts';
import { table } from '../../support/table.ts';

const elevenNames = Array.from({ length: 11 }, (_, index) => `slow-${index}`);

const cases: { name: string; input: Partial<DurationsInput>; want: readonly RegExp[] }[] = [
  {
    name: 'files within the limits',
    input: { names: ['a', 'b'], durations: { a: { wall: 120, cpu: 90 }, b: { wall: 1, cpu: 1 } } },
    want: [],
  },
  {
    name: 'a file above the limit of wall time',
    input: { names: ['a'], durations: { a: { wall: 121, cpu: 1 } } },
    want: [/^a takes 121 s and 1 CPU-s/],
  },
  {
    name: 'a file above the limit of CPU time',
    input: { names: ['a'], durations: { a: { wall: 1, cpu: 91 } } },
    want: [/^a takes 1 s and 91 CPU-s/],
  },
  {
    name: 'a slow file with a reason',
    input: { names: ['a'], durations: { a: { wall: 500, cpu: 1 } }, reasons: { a: 'it makes a cluster' } },
    want: [],
  },
  {
    name: 'an empty reason',
    input: { names: ['a'], durations: { a: { wall: 500, cpu: 1 } }, reasons: { a: '' } },
    want: [/^a takes 500 s/],
  },
  {
    name: 'a reason that is not needed',
    input: { names: ['a'], durations: { a: { wall: 5, cpu: 1 } }, reasons: { a: 'old' } },
    want: [/^a needs no reason/],
  },
  { name: 'a file without a duration', input: { names: ['a'] }, want: [/^a has no duration/] },
  {
    name: 'a duration of a file that is gone',
    input: { durations: { a: { wall: 1, cpu: 1 } } },
    want: [/^a has a duration and is no test/],
  },
  {
    name: 'two files of one name',
    input: { names: ['a', 'a'], durations: { a: { wall: 1, cpu: 1 } } },
    want: [/^two test files are named a/],
  },
  {
    name: 'too many reasons',
    input: {
      names: elevenNames,
      durations: Object.fromEntries(elevenNames.map((name) => [name, { wall: 130, cpu: 1 }])),
      reasons: Object.fromEntries(elevenNames.map((name) => [name, 'slow'])),
    },
    want: [/has 11 files: at most 10/],
  },
  {
    name: 'too much in all',
    input: {
      names: Array.from({ length: 100 }, (_, index) => `${index}`),
      durations: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index}`, { wall: 110, cpu: 60 }])),
    },
    want: [/^all tests take 100\.0 CPU-minutes/, /^all tests take 183\.3 minutes of lanes/],
  },
];

table('the check of durations names', (row) => {
  for (const { name, input, want } of cases) {
    row(name, () => {
      const problems = findDurationProblems({ names: [], durations: {}, reasons: {}, ...input });
      assert.equal(problems.length, want.length, problems.join('\n'));
      for (const [index, pattern] of want.entries()) assert.match(problems[index]!, pattern);
    });
  }
});
