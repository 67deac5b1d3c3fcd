import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolvConfProblem, searchProblem } from '../../../../../src/main/node/host/resolv-conf-limits.ts';
import { table } from '../../../../support/table.ts';

const paths = (count: number, length = 4) => Array.from({ length: count }, (_, index) => String(index).padStart(length, 'a'));
const file = '/etc/resolv.conf';
const cases: readonly [name: string, searches: string[], clusterDomain: string, want: string | null][] = [
  ['a number that leaves room for those of the cluster', paths(29), 'cluster.local', null],
  [
    'one more than leaves room for those of the cluster',
    paths(30),
    'cluster.local',
    `Resolv.conf file '${file}' contains search line consisting of more than 29 domains!`,
  ],
  ['the maximum, without a cluster domain', paths(32), '', null],
  [
    'one more than the maximum, without a cluster domain',
    paths(33),
    '',
    `Resolv.conf file '${file}' contains search line consisting of more than 32 domains!`,
  ],
  [
    'a path that is too long',
    ['a'.repeat(254)],
    'cluster.local',
    `Resolv.conf file "${file}" contains a search path which length is more than allowed 253 chars!`,
  ],
  [
    'too many characters in total',
    paths(9, 250),
    'cluster.local',
    `Resolv.conf file '${file}' contains search line which length is more than allowed 2048 chars!`,
  ],
];
table('the node’s search paths', (row) => {
  for (const [name, searches, clusterDomain, want] of cases) {
    row(`the node’s search paths: ${name}`, () => assert.equal(searchProblem(file, searches, clusterDomain), want));
  }
});

test('an unreadable resolv.conf is a problem, an empty path is not', () => {
  assert.match(resolvConfProblem('/no/such/file', '') ?? '', /ENOENT.*\/no\/such\/file/);
  assert.equal(resolvConfProblem('', 'cluster.local'), null);
});
