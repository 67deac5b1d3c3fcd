/** The interfaces of a network namespace, as the kernel lists them: without carrier, down, with another address at the other end. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import type { HostInterface } from '../../../src/main/node/addresses/host-interfaces.ts';
import { readHostInterfaces } from '../../../src/main/node/addresses/host-interfaces.ts';

test('all addresses that Node finds are found over netlink', async () => {
  const found = await readHostInterfaces();
  for (const [name, infos = []] of Object.entries(networkInterfaces())) {
    const texts = found.find((each) => each.name === name)?.addresses.map(({ text }) => text) ?? [];
    for (const { address } of infos) assert.ok(texts.includes(address), `${name} ${address}`);
  }
});

test('interfaces without carrier and interfaces that are down are found, with their addresses', () => {
  const source = new URL('../../../src/main/node/addresses/host-interfaces.ts', import.meta.url).pathname;
  const script = [
    'ip link add cable0 type veth peer name cable1',
    'ip link add downed type veth peer name other',
    'ip addr add 192.0.2.7/24 dev cable0',
    'ip addr add 192.0.2.8/24 dev cable0',
    'ip addr add 10.9.9.1 peer 10.9.9.2 dev cable0',
    'ip addr add 198.51.100.1/24 dev downed',
    'ip link set cable0 up',
    `exec "$0" -e 'import(process.argv[1]).then(async (m) => console.log(JSON.stringify(await m.readHostInterfaces())))' "$1"`,
  ].join(' && ');
  const output = execFileSync('unshare', ['--net', 'sh', '-c', script, process.execPath, source], { encoding: 'utf8' });
  const interfaces = JSON.parse(output) as HostInterface[];
  const of = (name: string) => {
    const { isUp, isLoopback, addresses } = interfaces.find((each) => each.name === name)!;
    return { isUp, isLoopback, addresses: addresses.map(({ text }) => text) };
  };
  assert.deepEqual(of('cable0'), { isUp: true, isLoopback: false, addresses: ['192.0.2.7', '10.9.9.1', '192.0.2.8'] });
  assert.deepEqual(of('downed'), { isUp: false, isLoopback: false, addresses: ['198.51.100.1'] });
  assert.deepEqual(of('lo'), { isUp: false, isLoopback: true, addresses: [] });
});
