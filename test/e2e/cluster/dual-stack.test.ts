/** A dual-stack node and a hostNetwork pod: both report an address of each family. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { test, type TestContext } from 'node:test';
import type { Node } from '../../../src/main/node/index.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

/** A unique local address (RFC 4193), for a host that has only link-local ones. */
const ownIPv6 = 'fd6b:7562:656c:6574::7';

/** An address of each family of this host; a host without an IPv6 address gets one while the test runs. */
function addressesOf(t: TestContext): readonly [string, string] {
  const all = Object.entries(networkInterfaces()).flatMap(([device, found = []]) => found.map((address) => ({ device, ...address })));
  const usable = all.filter(({ internal, scopeid }) => !internal && !scopeid);
  const [ipv4, ipv6] = (['IPv4', 'IPv6'] as const).map((wanted) => usable.find(({ family }) => family === wanted));
  if (!ipv4) throw new Error('this host has only loopback addresses, which a node cannot use');
  if (ipv6) return [ipv4.address, ipv6.address];
  const ip = (verb: 'add' | 'del') =>
    execFileSync('ip', ['-6', 'address', verb, `${ownIPv6}/128`, 'dev', ipv4.device], { stdio: ['ignore', 'ignore', 'pipe'] });
  ip('add');
  t.after(() => void ip('del'));
  return [ipv4.address, ownIPv6];
}

test('a dual-stack node reports both addresses, as do its hostNetwork pods', async (t) => {
  const ips = addressesOf(t);
  const node = await TestClusterNode.start('cluster-dual', {
    flags: [`--node-ip=${ips.join()}`, '--node-labels=rack=r1', '--register-with-taints=dedicated=tests:NoSchedule,old:PreferNoSchedule'],
  });
  t.after(() => node.destroy());
  const { metadata, status } = await node.api.get<Node>(node.nodePath);
  const internal = status?.addresses?.filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
  assert.deepEqual(internal, ips);
  assert.equal(metadata.labels?.['rack'], 'r1');
  // Lifecycle taints come and go in addition.
  const taints = await waitUntil(
    'the node has no lifecycle taint',
    async () => {
      const current = (await node.api.get<Node>(node.nodePath)).spec?.taints ?? [];
      return current.some(({ key }) => key.startsWith('node.kubernetes.io/')) ? undefined : current;
    },
    60_000,
  );
  assert.deepEqual(
    taints.toSorted((a, b) => a.key.localeCompare(b.key)),
    [
      { key: 'dedicated', value: 'tests', effect: 'NoSchedule' },
      { key: 'old', effect: 'PreferNoSchedule' },
    ],
  );

  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  await node.create('in-host', {
    hostNetwork: true,
    containers: [aBusybox({ env: [field('PODS', 'status.podIPs'), field('HOSTS', 'status.hostIPs'), field('HOST', 'status.hostIP')] })],
  });
  const { status: reported } = await node.untilRunning('in-host');
  const wanted = ips.map((ip) => ({ ip }));
  assert.deepEqual([reported?.podIP, reported?.podIPs, reported?.hostIP, reported?.hostIPs], [ips[0], wanted, ips[0], wanted]);
  assert.equal(await node.exec('in-host', 'echo $PODS $HOSTS $HOST'), `${ips.join()} ${ips.join()} ${ips[0]}\n`);

  await node.create('in-own');
  const own = await node.untilRunning('in-own');
  assert.deepEqual([own.status?.hostIP, own.status?.hostIPs], [ips[0], wanted]);
  assert.ok(own.status?.podIPs?.length === 1 && own.status.podIP !== ips[0]);
});
