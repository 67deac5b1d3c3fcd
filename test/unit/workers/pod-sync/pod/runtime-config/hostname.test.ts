import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../../../../src/shared/kubernetes/api.ts';
import { kernelHostname, computePodHostname } from '../../../../../../src/workers/pod-sync/pod/runtime-config/hostname.ts';
import { aPod } from '../../../../../support/pods/pods.ts';
import { someSettings } from '../../../../../support/pods/runtime-config-inputs.ts';
import { table } from '../../../../../support/table.ts';

const hostnameOf = (name: string, spec: Partial<PodSpec>) =>
  computePodHostname(aPod({ metadata: { name, namespace: 'ns' }, spec }), someSettings);

const cases: readonly [name: string, podName: string, spec: Partial<PodSpec>, hostname: string, domain: string][] = [
  ['the pod’s name', 'web-node-1', {}, 'web-node-1', ''],
  ['the hostname of the spec', 'web', { hostname: 'db' }, 'db', ''],
  ['a subdomain', 'web', { hostname: 'db', subdomain: 'sub' }, 'db', 'sub.ns.svc.cluster.local'],
  ['a long name is truncated', `${'a'.repeat(63)}b`, {}, 'a'.repeat(63), ''],
  ['a truncated name does not end with a dash or a dot', `${'a'.repeat(60)}-.-bcd`, {}, 'a'.repeat(60), ''],
  ['an override has no domain', 'web', { hostname: 'db', subdomain: 'sub', hostnameOverride: 'a.b.c' }, 'a.b.c', ''],
];
table('hostname', (row) => {
  for (const [name, podName, spec, hostname, domain] of cases) {
    row(`hostname: ${name}`, () => assert.deepEqual(hostnameOf(podName, spec), { hostname, domain }));
  }
});

for (const [spec, message] of [
  [{ hostname: 'Up' }, /pod Hostname "Up" is not a valid DNS label: a lowercase RFC 1123 label must consist of/],
  [{ subdomain: 'a.b' }, /pod Subdomain "a.b" is not a valid DNS label/],
  [{ hostnameOverride: 'a..b' }, /pod HostnameOverride "a..b" is not a valid DNS subdomain/],
] as const) {
  test(`hostname: ${JSON.stringify(spec)} is rejected`, () => assert.throws(() => hostnameOf('web', spec), message));
}

test('the kernel’s hostname is the FQDN if the pod requests it and it is short enough', () => {
  const name = { hostname: 'web', domain: 'sub.ns.svc.cluster.local' };
  assert.equal(kernelHostname(name, undefined), 'web');
  assert.equal(kernelHostname(name, true), 'web.sub.ns.svc.cluster.local');
  assert.equal(kernelHostname({ hostname: 'web', domain: '' }, true), 'web');
  assert.throws(
    () => kernelHostname({ ...name, hostname: 'a'.repeat(41) }, true),
    /is too long \(64 characters is the max, 66 characters requested\)/,
  );
});
