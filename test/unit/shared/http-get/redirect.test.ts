import assert from 'node:assert/strict';
import { computeRedirect, type Redirect } from '../../../../src/shared/http-get/redirect.ts';
import { urlText, type HttpRequest } from '../../../../src/shared/http-get/request.ts';
import { table } from '../../../support/table.ts';

const first: HttpRequest = {
  url: { scheme: 'http', host: '10.0.0.1', port: 8080, path: '/a/b' },
  host: 'example.com',
  headers: [['Accept', '*/*']],
};
const ipv6: HttpRequest = { ...first, url: { ...first.url, host: 'fd00::1' } };

function summary(redirect: Redirect): string {
  if (redirect.type === 'none') return 'none';
  if (redirect.type === 'failed') return `failed: ${redirect.message}`;
  const { url, host, headers } = redirect.request;
  return `${urlText(url)} host=${host} ${headers.map(([name, value]) => `${name}=${value}`).join(' ')}`;
}

table('computeRedirect', (row) => {
  const referer = 'Accept=*/* Referer=http://10.0.0.1:8080/a/b';
  const cases: readonly [string, number, string, string, HttpRequest?, number?][] = [
    ['a relative location keeps the Host header', 302, 'c?d', `http://10.0.0.1:8080/a/c?d host=example.com ${referer}`],
    ['the same host in full', 301, 'http://10.0.0.1:8080/x', `http://10.0.0.1:8080/x host= ${referer}`],
    ['another port of the same host', 307, 'http://10.0.0.1/x', `http://10.0.0.1:80/x host= ${referer}`],
    ['https of the same host', 308, 'https://10.0.0.1/x', `https://10.0.0.1:443/x host= ${referer}`],
    ['another host is not followed', 302, 'http://10.0.0.2:8080/x', 'none'],
    ['a metadata service is not followed', 302, 'http://169.254.169.254/', 'none'],
    ['another host without a scheme', 302, '//evil/x', 'none'],
    ['no location', 302, '', 'none'],
    ['300 is no redirect', 300, '/x', 'none'],
    ['304 is no redirect', 304, '/x', 'none'],
    ['a success', 200, '/x', 'none'],
    ['a location that is no URL', 302, 'http://[', 'failed: failed to parse Location header "http://["'],
    ['another scheme', 302, 'ftp://10.0.0.1/x', 'failed: unsupported protocol scheme "ftp"'],
    ['the ninth redirect', 302, '/x', `http://10.0.0.1:8080/x host=example.com ${referer}`, first, 9],
    ['the tenth redirect', 302, '/x', 'failed: stopped after 10 redirects', first, 10],
    ['IPv6', 302, 'http://[FD00::1]:8080/x', 'http://[fd00::1]:8080/x host= Accept=*/* Referer=http://[fd00::1]:8080/a/b', ipv6],
  ];
  for (const [name, statusCode, location, want, from = first, requests = 1] of cases)
    row(name, () => assert.equal(summary(computeRedirect({ statusCode, location }, { first: from, last: from, requests })), want));
});
