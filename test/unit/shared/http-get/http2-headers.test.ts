import assert from 'node:assert/strict';
import { http2Fault, toHttp2Headers } from '../../../../src/shared/http-get/http2-headers.ts';
import { toHttpRequest } from '../../../../src/shared/http-get/request.ts';
import { table } from '../../../support/table.ts';

const request = (headers: readonly (readonly [name: string, value: string])[], path = '/a?b') =>
  toHttpRequest({ scheme: 'https', host: 'fd00::1', port: 8443, path, headers: headers.map(([name, value]) => ({ name, value })) });

table('toHttp2Headers', (row) => {
  const cases: readonly [string, Parameters<typeof request>, string][] = [
    ['the plain request', [[]], ':authority [fd00::1]:8443 :method GET :path /a?b :scheme https'],
    ['a path without a slash', [[], 'a'], ':authority [fd00::1]:8443 :method GET :path /a :scheme https'],
    ['a Host header', [[['host', 'example.com']], '/'], ':authority example.com :method GET :path / :scheme https'],
    [
      'names are in lower case, and a name may occur twice',
      [
        [
          ['X-A', ' 1 '],
          ['x-a', '2'],
        ],
        '/',
      ],
      ':authority [fd00::1]:8443 :method GET :path / :scheme https x-a 1 x-a 2',
    ],
    [
      'headers of a connection are not sent',
      [
        [
          ['Connection', 'close'],
          ['Keep-Alive', '5'],
          ['Proxy-Connection', 'close'],
          ['Te', 'gzip'],
        ],
        '/',
      ],
      ':authority [fd00::1]:8443 :method GET :path / :scheme https',
    ],
    ['trailers are accepted', [[['TE', 'trailers']], '/'], ':authority [fd00::1]:8443 :method GET :path / :scheme https te trailers'],
  ];
  for (const [name, args, want] of cases) row(name, () => assert.equal(toHttp2Headers(request(...args)).join(' '), want));
});

table('http2Fault', (row) => {
  const cases: readonly [string, readonly (readonly [string, string])[], string | undefined][] = [
    ['none', [['X-A', '1']], undefined],
    ['a connection that closes', [['Connection', 'Close']], undefined],
    ['an upgrade', [['Upgrade', 'websocket']], 'http2: invalid Upgrade request header: ["websocket"]'],
    ['an upgraded connection', [['connection', 'Upgrade']], 'http2: invalid Connection request header: ["Upgrade"]'],
    [
      'two connection headers',
      [
        ['Connection', 'close'],
        ['Connection', 'close'],
      ],
      'http2: invalid Connection request header: ["close" "close"]',
    ],
  ];
  for (const [name, headers, want] of cases) row(name, () => assert.equal(http2Fault(request(headers)), want));
});
