import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LifecycleHandler } from '../../../../../src/shared/kubernetes/api.ts';
import { toHookRequest, withScheme } from '../../../../../src/workers/pod-sync/hooks/http-get.ts';
import { table } from '../../../../support/table.ts';

const ports = [
  { name: 'admin', containerPort: 8080 },
  { name: 'tls', containerPort: 8443 },
];
const cases: { name: string; action: NonNullable<LifecycleHandler['httpGet']>; podIP?: string; url: string }[] = [
  { name: 'a port by number', action: { port: 81 }, url: 'http://10.0.0.9:81/' },
  { name: 'a port by name', action: { port: 'admin', path: '/stop' }, url: 'http://10.0.0.9:8080/stop' },
  { name: 'a port that is a number as text', action: { port: '81' }, url: 'http://10.0.0.9:81/' },
  { name: 'a host in the action', action: { port: 81, host: 'example.test', path: 'x' }, url: 'http://example.test:81/x' },
  { name: 'HTTPS, and a query', action: { port: 'tls', scheme: 'HTTPS', path: '/a?b=c&d=?' }, url: 'https://10.0.0.9:8443/a?b=c&d=?' },
  { name: 'an IPv6 address', action: { port: 81 }, podIP: 'fd00::1', url: 'http://[fd00::1]:81/' },
  {
    name: 'a path that looks like an address stays on the pod',
    action: { port: 81, path: 'http://evil.test/' },
    url: 'http://10.0.0.9:81/http://evil.test/',
  },
];
table('the URL of a hook', (row) => {
  for (const { name, action, podIP = '10.0.0.9', url } of cases) {
    row(`the URL of a hook: ${name}`, () => assert.equal(toHookRequest(action, ports, podIP).url.href, url));
  }
});

table('an invalid port of a hook is rejected', (row) => {
  for (const port of ['none', 0, 70_000, '-1', '']) {
    row(`the port ${JSON.stringify(port)} of a hook is rejected`, () =>
      assert.throws(() => toHookRequest({ port }, ports, '10.0.0.9'), /invalid port/),
    );
  }
});

test("headers are sent as specified, with the kubelet's user agent", () => {
  const httpHeaders = [
    { name: 'X-One', value: '1' },
    { name: 'x-one', value: '2' },
    { name: 'Accept', value: '' },
  ];
  const { headers } = toHookRequest({ port: 81, httpHeaders }, ports, '10.0.0.9');
  assert.deepEqual(headers, { 'x-one': ['1', '2'], 'user-agent': 'kube-lifecycle/1.36' });
  assert.equal(toHookRequest({ port: 81 }, ports, '10.0.0.9').headers['accept'], '*/*');
});

test('a URL keeps its port with another scheme, also when the port is the default', () => {
  assert.equal(withScheme(new URL('https://10.0.0.9/x'), 'http').href, 'http://10.0.0.9:443/x');
  assert.equal(withScheme(new URL('http://10.0.0.9:8080/x'), 'https').href, 'https://10.0.0.9:8080/x');
});
