import assert from 'node:assert/strict';
import { requestHeaders, requestPath, toHttpGet, type HttpGetAction } from '../../../../src/shared/http-get/request-parts.ts';
import { urlText } from '../../../../src/shared/http-get/request.ts';
import { table } from '../../../support/table.ts';
import { kubernetesMinor } from '../../../../src/shared/kubernetes/version.ts';

const ports = [
  { name: 'admin', containerPort: 8080 },
  { name: 'tls', containerPort: 8443 },
];

table('the URL of a request', (row) => {
  const cases: readonly [string, HttpGetAction, string, string?][] = [
    ['a port by number', { port: 81 }, 'http://10.0.0.9:81/'],
    ['a port by name', { port: 'admin', path: '/stop' }, 'http://10.0.0.9:8080/stop'],
    ['a host in the action', { port: 81, host: 'example.test', path: 'x' }, 'http://example.test:81/x'],
    ['HTTPS, and a query', { port: 'tls', scheme: 'HTTPS', path: '/a?b=c&d=?' }, 'https://10.0.0.9:8443/a?b=c&d=?'],
    ['an IPv6 address', { port: 81 }, 'http://[fd00::1]:81/', 'fd00::1'],
    ['a path with a host stays on the pod, as with Go', { port: 81, path: 'http://evil.test/x' }, 'http://10.0.0.9:81/x'],
  ];
  for (const [name, action, want, podIP = '10.0.0.9'] of cases)
    row(name, () => assert.equal(urlText(toHttpGet(action, ports, podIP, 'probe')), want));
});

table('a port that does not exist', (row) => {
  for (const [port, want] of [
    ['none', 'port "none" not found'],
    ['', 'port "" not found'],
    ['81', 'port "81" not found'],
    [0, 'invalid port number: 0'],
    [70_000, 'invalid port number: 70000'],
  ] as const)
    row(JSON.stringify(port), () => assert.throws(() => toHttpGet({ port }, ports, '10.0.0.9', 'probe'), { message: want }));
});

table('a path is sent as Go sends it', (row) => {
  for (const [given, want] of [
    ['', '/'],
    ['healthz', '/healthz'],
    ['/a/../b', '/a/../b'],
    ['/a?b=c&d#f', '/a?b=c&d'],
    ['?x', '/?x'],
    ['http://other:1/a?b', '/a?b'],
    ['//other/a', '/a'],
    ['/a b"é', '/a%20b%22%C3%A9'],
    ['/a?b c', '/a?b%20c'],
    ['/%zz?a#b', '/%25zz%3Fa%23b'],
    ['/a%2fb', '/a%2fb'],
    ['/a\r\nHost: x', '/a%0D%0AHost:%20x'],
    ['/\ud800', '/%EF%BF%BD'],
  ] as const) {
    row(JSON.stringify(given), () => assert.equal(requestPath(given), want));
  }
});

table('the headers have upstream’s defaults', (row) => {
  const agent = { name: 'User-Agent', value: `kube-probe/${kubernetesMinor}` };
  const accept = { name: 'Accept', value: '*/*' };
  for (const [name, given, want] of [
    ['none', [], [agent, accept]],
    ['own agent, in any case', [{ name: 'user-agent', value: 'x' }], [{ name: 'user-agent', value: 'x' }, accept]],
    ['an empty Accept means none', [{ name: 'Accept', value: '' }], [agent]],
    ['an empty agent stays', [{ name: 'User-Agent', value: '' }], [{ name: 'User-Agent', value: '' }, accept]],
    [
      'repeated headers',
      [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ],
      [{ name: 'A', value: '1' }, { name: 'A', value: '2' }, agent, accept],
    ],
    [
      'the first Host counts',
      [
        { name: 'host', value: 'a' },
        { name: 'Host', value: 'b' },
      ],
      [{ name: 'host', value: 'a' }, agent, accept],
    ],
    ['an empty Host is no Host', [{ name: 'Host', value: '' }], [agent, accept]],
  ] as const) {
    row(name, () => assert.deepEqual(requestHeaders('probe', given), want));
  }
});

table('the headers of a lifecycle hook', (row) => {
  const summary = (...names: string[]) =>
    requestHeaders(
      'lifecycle',
      names.map((name) => ({ name, value: 'x' })),
    )
      .map(({ name, value }) => `${name}=${value}`)
      .join(' ');
  row('none', () => assert.equal(summary(), `User-Agent=kube-lifecycle/${kubernetesMinor} Accept=*/* Accept-Encoding=gzip`));
  row('an own encoding', () =>
    assert.equal(summary('accept-encoding'), `accept-encoding=x User-Agent=kube-lifecycle/${kubernetesMinor} Accept=*/*`),
  );
  row('a range is not compressed', () => assert.equal(summary('Range'), `Range=x User-Agent=kube-lifecycle/${kubernetesMinor} Accept=*/*`));
});
