import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameCandidates } from '../../../../src/shared/dial/name-candidates.ts';

const search = 'nameserver 10.0.0.1\nsearch a.example b.example.\n';
const cases: readonly [resolvConf: string, name: string, want: readonly string[]][] = [
  ['', 'web', ['web']],
  [search, 'web', ['web.a.example', 'web.b.example', 'web']],
  [search, 'web.rack', ['web.rack', 'web.rack.a.example', 'web.rack.b.example']],
  [search, 'web.', ['web.']],
  [`${search}options ndots:2`, 'web.rack', ['web.rack.a.example', 'web.rack.b.example', 'web.rack']],
  [`${search}options ndots:0`, 'web', ['web', 'web.a.example', 'web.b.example']],
  [`${search}options ndots:x`, 'web.rack', ['web.rack', 'web.rack.a.example', 'web.rack.b.example']],
  ['search a.example\nnameserver\n', 'web', ['web']],
];

test('the names that DNS is asked for', () => {
  for (const [resolvConf, name, want] of cases) assert.deepEqual(nameCandidates(resolvConf, name), want, `${name}: ${resolvConf}`);
});
