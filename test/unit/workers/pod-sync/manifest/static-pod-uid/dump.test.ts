import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dumpPointer } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/dump.ts';
import type { GoStruct } from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/go-type.ts';
import { table } from '../../../../../support/table.ts';

function dumpOf(type: string, value: GoStruct): string {
  let text = '';
  dumpPointer(type, value, (piece) => {
    text += piece;
  });
  return text;
}

const cases: readonly [what: string, type: string, value: GoStruct, text: string][] = [
  ['a struct without set fields', 'core.HostAlias', {}, '(*core.HostAlias){IP:(string) Hostnames:([]string)<nil>}'],
  ['a list', 'core.HostAlias', { IP: '::1', Hostnames: ['a', ''] }, '(*core.HostAlias){IP:(string)::1 Hostnames:([]string)[a ]}'],
  ['an empty list', 'core.HostAlias', { Hostnames: [] }, '(*core.HostAlias){IP:(string) Hostnames:([]string)[]}'],
  [
    'set and nil pointers',
    'core.ConfigMapEnvSource',
    { LocalObjectReference: { Name: 'c' }, Optional: false },
    '(*core.ConfigMapEnvSource){LocalObjectReference:(core.LocalObjectReference){Name:(string)c} Optional:(*bool)false}',
  ],
  [
    'keys in the order of their UTF-8 bytes',
    'v1.LabelSelector',
    {
      MatchLabels: new Map([
        ['\u{1f600}', '1'],
        ['\uff5e', '2'],
        ['b', '3'],
        ['B', '4'],
      ]),
    },
    '(*v1.LabelSelector){MatchLabels:(map[string]string)map[B:4 b:3 \uff5e:2 \u{1f600}:1] MatchExpressions:([]v1.LabelSelectorRequirement)<nil>}',
  ],
];
table('a value is printed like in Go', (row) => {
  for (const [what, type, value, text] of cases) {
    row(`${what} is printed like in Go`, () => assert.equal(dumpOf(type, value), text));
  }
});

test('a value below a pointer to itself is printed as already seen', () => {
  const zone: GoStruct = { name: 'UTC' };
  const time = { Time: { loc: zone } };
  const text = dumpOf('core.ContainerStateTerminated', { StartedAt: time, FinishedAt: time });
  // Side by side, neither value is below the other.
  assert.equal(text.split('loc:(*time.Location){').length, 3);
  const status = dumpOf('core.PodStatus', { StartTime: time, ContainerStatuses: [{ State: { Running: { StartedAt: time } } }] });
  assert.match(status, /StartedAt:\(v1\.Time\)\{Time:\(time\.Time\)\{[^}]*loc:\(\*time\.Location\)<shown>/);
});
