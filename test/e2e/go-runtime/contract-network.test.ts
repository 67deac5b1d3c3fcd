/**
 * What Go's runtime does for the network without a word: families, authorities, names, proxies. Each condition's outcome stands in docs/go-runtime.md,
 * beside the Go kubelet's.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { aProbedPod, enterNetwork, eth0, isReady, lastOf, podOf, startHost, type ContractHost } from '../../support/go-runtime/host.ts';
import { canConnect } from '../../support/kubelet/can-connect.ts';
import { assertOutcome } from '../../support/go-runtime/outcomes.ts';
import { certificateFor, NodeRegistry, RecordingProxy, serveHTTP, serveHTTPS } from '../../support/go-runtime/servers.ts';
import { aFolder, ensureBuilt } from '../../support/kubelet/kubelet-command.ts';

before(ensureBuilt);

async function portsOf({ securePort, readOnlyPort }: ContractHost, address: string): Promise<string> {
  const open = [
    (await canConnect(securePort, address)) && 'the secure port',
    (await canConnect(readOnlyPort, address)) && 'the read-only port',
  ];
  return `open: ${open.filter(Boolean).join(', ')}`;
}

test('a host with IPv6 only', async (t) => {
  const own = 'fd00:77::2';
  enterNetwork(`${eth0}
ip address add ${own}/64 dev eth0 nodad
ip -6 route add default via fd00:77::1
echo 1 > /proc/sys/net/ipv6/bindv6only`);
  const probed = await serveHTTP(t, own, (_, response) => void response.end());
  const manifests = await serveHTTP(t, own, (_, response) => void response.end(JSON.stringify(aProbedPod(probed))));
  const intermediate = new TestAuthority('intermediate', new TestAuthority('root'));
  // fd00:96::1.
  const serviceAddress = Buffer.from(`fd000096${'0'.repeat(23)}1`, 'hex');
  const registry = new NodeRegistry();
  const apiServer = await serveHTTPS(t, own, certificateFor(intermediate, serviceAddress), registry.answer);
  const host = await startHost(t, {
    config: { staticPodURL: `http://[${own}]:${manifests}/` },
    kubeconfig: { server: `https://[${own}]:${apiServer}`, authority: intermediate.cert, 'tls-server-name': 'fd00:96::1' },
  });
  const pod = await lastOf(() => podOf(host, 'web'), isReady);
  await lastOf(
    () => registry.node,
    () => true,
  );

  const ports = await portsOf(host, own);
  assertOutcome('`address: 0.0.0.0`, IPv6 only, `net.ipv6.bindv6only = 1`', ports);
  assertOutcome('`staticPodURL` with an IPv6 address', pod ? 'its pod exists' : 'no pod');
  assertOutcome('a pod with `hostNetwork`, IPv6 only', `podIP ${pod?.status?.podIP}, hostIP ${pod?.status?.hostIP}`);
  assertOutcome('an HTTP probe without `host`, IPv6 only', pod && isReady(pod) ? 'succeeds' : 'fails');
  assertOutcome('the addresses of the Node, IPv6 only', registry.internalIPs());
  assertOutcome('a kubeconfig whose only authority is an intermediate one', registry.node ? 'the Node registers' : 'no Node');
  assertOutcome('`tls-server-name` is an IPv6 address, and not that of the server', registry.node ? 'the Node registers' : 'no Node');
});

test('a host without IPv6, behind a proxy, whose address belongs to an interface without carrier', async (t) => {
  const own = '192.168.50.1';
  enterNetwork(`echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
${eth0}
ip address add 10.9.0.2/24 dev eth0
ip address add 10.9.1.2/24 dev eth0
ip route add default via 10.9.0.1
ip link add cni0 type bridge
ip address add ${own}/24 dev cni0
ip link set cni0 up`);
  const proxy = await RecordingProxy.start(t, '10.9.0.2', 'from the proxy');
  const probed = await serveHTTP(t, own, (_, response) => void response.end());
  const intermediate = new TestAuthority('intermediate', new TestAuthority('root'));
  const authorities = join(aFolder(t), 'authorities.pem');
  writeFileSync(authorities, intermediate.cert);
  const answer = JSON.stringify(aProbedPod(probed));
  const manifests = await serveHTTPS(t, '10.9.1.2', certificateFor(intermediate, '10.9.1.2'), (_, response) => void response.end(answer));
  const root = new TestAuthority('private');
  const registry = new NodeRegistry();
  const apiServer = await serveHTTPS(t, '10.9.0.2', certificateFor(root, '10.9.0.2'), registry.answer);
  const url = `http://10.9.0.2:${proxy.port}`;
  const host = await startHost(t, {
    config: { staticPodURL: `https://10.9.1.2:${manifests}/` },
    kubeconfig: { server: `https://10.9.0.2:${apiServer}`, authority: root.cert },
    flags: ['--node-ip', own],
    env: { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: '10.9.1.0/24', SSL_CERT_FILE: authorities, SSL_CERT_DIR: '/nowhere' },
  });
  const pod = await lastOf(() => podOf(host, 'web'), isReady);
  await lastOf(
    () => registry.node,
    () => true,
  );

  const ports = await portsOf(host, own);
  assertOutcome('`address: 0.0.0.0`, `net.ipv6.conf.all.disable_ipv6 = 1`', ports);
  assertOutcome('a kubeconfig with a private authority', registry.node ? 'the Node registers' : 'no Node');
  assertOutcome('`--node-ip` of an interface without carrier', registry.internalIPs());
  const through = (port: number) => (proxy.requests.some((each) => each.includes(`:${port}`)) ? 'through the proxy' : 'directly');
  assertOutcome('an API server outside of `NO_PROXY`', through(apiServer));
  assertOutcome('`staticPodURL` in a range of addresses of `NO_PROXY`', through(manifests));
  assertOutcome('`staticPodURL` whose certificate is of an intermediate authority in `SSL_CERT_FILE`', pod ? 'its pod exists' : 'no pod');
  assertOutcome('an HTTP probe with `HTTP_PROXY` set', `${through(probed)}, ${pod && isReady(pod) ? 'succeeds' : 'fails'}`);
});

test('a host without a default route, whose API server has a dead IPv6 address', async (t) => {
  enterNetwork(`${eth0}
ip link add docker0 type bridge
ip address add 172.17.0.1/16 dev docker0
ip link set docker0 up
ip address add 10.9.0.2/24 dev eth0
ip address add fd00:77::2/64 dev eth0 nodad
ip neighbour add fd00:77::3 lladdr 02:00:00:00:00:03 dev eth0`);
  const root = new TestAuthority('private');
  const registry = new NodeRegistry();
  const apiServer = await serveHTTPS(t, '10.9.0.2', certificateFor(root, 'api.example'), registry.answer);
  const proxy = await RecordingProxy.start(t, '10.9.0.2', JSON.stringify(aProbedPod(1)));
  const hosts = join(aFolder(t), 'hosts');
  writeFileSync(hosts, `127.0.0.1 localhost\nfd00:77::3 api.example\n10.9.0.2 api.example\n`);
  const host = await startHost(t, {
    config: { staticPodURL: `http://manifests.example/pods` },
    kubeconfig: { server: `https://api.example:${apiServer}`, authority: root.cert, withoutUser: true },
    env: { http_proxy: `http://10.9.0.2:${proxy.port}`, NO_PROXY: '.api.example,api.example,10.0.0.0/8' },
    setUp: `mount --bind ${hosts} /etc/hosts && mount -t tmpfs tmpfs /sys/fs/cgroup/cpu`,
  });
  await lastOf(
    () => registry.node,
    () => true,
  );
  const pod = await lastOf(
    () => podOf(host, 'web'),
    () => true,
  );
  assertOutcome(
    'an API server whose name has an IPv6 address that never answers, and an IPv4 address',
    registry.node ? 'the Node registers' : 'no Node',
  );
  assertOutcome('the addresses of the Node, without a default route', registry.internalIPs() || 'none');
  const { node, authorization } = registry;
  assertOutcome(
    'a context of a kubeconfig whose user is missing',
    `${node ? 'the Node registers' : 'no Node'}, ${authorization ?? 'anonymous'}`,
  );
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  assertOutcome('cgroup v1 whose CPU controller has no quotas', /WARNING: .*/.exec(ready)?.[0] ?? 'no warning');
  const [request] = proxy.requests;
  assertOutcome('`staticPodURL` with `http:` and a name that only the proxy knows', `${request}, ${pod ? 'its pod exists' : 'no pod'}`);
  host.kubelet.kill('SIGTERM');
  const { code } = await host.kubelet.ended;
  assertOutcome('SIGTERM', `ends with ${code}`);
});
