import assert from 'node:assert/strict';
import { renderRequest, requestFault, toHttpRequest, urlText, type HttpGetTarget } from '../../../../src/shared/http-get/request.ts';
import { table } from '../../../support/table.ts';

const target: HttpGetTarget = { scheme: 'http', host: '10.0.0.1', port: 8080, path: '/a?b=c', headers: [] };
const header = (name: string, value: string) => ({ headers: [{ name, value }] });

table('renderRequest', (row) => {
  const cases: readonly [string, Partial<HttpGetTarget>, string][] = [
    ['the plain request', {}, 'GET /a?b=c HTTP/1.1|Host: 10.0.0.1:8080|Connection: close||'],
    ['a path without a slash', { path: 'a' }, 'GET /a HTTP/1.1|Host: 10.0.0.1:8080|Connection: close||'],
    ['IPv6', { host: 'fd00::1', path: '/' }, 'GET / HTTP/1.1|Host: [fd00::1]:8080|Connection: close||'],
    ['a Host header', header('host', 'example.com'), 'GET /a?b=c HTTP/1.1|Host: example.com|Connection: close||'],
    [
      'names become canonical',
      header('x-forwarded-FOR', ' me '),
      'GET /a?b=c HTTP/1.1|Host: 10.0.0.1:8080|X-Forwarded-For: me|Connection: close||',
    ],
    ['a length of the request is not sent', header('Content-Length', '5'), 'GET /a?b=c HTTP/1.1|Host: 10.0.0.1:8080|Connection: close||'],
    ['an empty User-Agent is not sent', header('User-Agent', ''), 'GET /a?b=c HTTP/1.1|Host: 10.0.0.1:8080|Connection: close||'],
    ['an upgrade', header('Connection', 'Upgrade'), 'GET /a?b=c HTTP/1.1|Host: 10.0.0.1:8080|Connection: Upgrade||'],
  ];
  for (const [name, over, want] of cases)
    row(name, () => assert.equal(renderRequest(toHttpRequest({ ...target, ...over })).replaceAll('\r\n', '|'), want));
});

table('requestFault', (row) => {
  const cases: readonly [string, Partial<HttpGetTarget>, string | undefined][] = [
    ['nothing', header('A', 'b\tc é'), undefined],
    ['a line break in a value', header('X-A', 'a\r\nB: c'), 'net/http: invalid header field value for "X-A"'],
    ['a line break in a name', header('A\nB', 'c'), String.raw`net/http: invalid header field name "A\nB"`],
    ['an empty name', header('', 'c'), 'net/http: invalid header field name ""'],
    ['a line break in the host', header('Host', 'a\nb'), 'http: invalid Host header'],
    ['a space in the path', { path: '/a HTTP/1.1\r\n' }, "net/http: can't write control character in Request.URL"],
  ];
  for (const [name, over, want] of cases) row(name, () => assert.equal(requestFault(toHttpRequest({ ...target, ...over })), want));
});

table('urlText', (row) => {
  row('IPv4', () => assert.equal(urlText(target), 'http://10.0.0.1:8080/a?b=c'));
  row('IPv6', () => assert.equal(urlText({ ...target, host: 'fd00::1', scheme: 'https' }), 'https://[fd00::1]:8080/a?b=c'));
});
