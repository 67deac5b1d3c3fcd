import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServeMux } from '../../../../src/workers/server/serve-mux.ts';
import { parseRequestTarget } from '../../../../src/workers/server/request-target.ts';
import { table } from '../../../support/table.ts';

const targets: [target: string, want: string][] = [
  ['/pods', '/pods'],
  ['/pods/', '/pods/'],
  ['/pods?a=b', '/pods'],
  ['/exec/ns/pod/app%20x', '/exec/ns/pod/app x'],
  ['/exec/ns%2Fpod/app', '/exec/ns/pod/app'],
  ['https://node:10250/pods?x', '/pods'],
  ['//pods', '307 /pods'],
  ['//evil.example/', '307 /evil.example/'],
  [String.raw`//\evil.example`, '307 /%5Cevil.example'],
  ['/a/../pods?x=1', '307 /pods?x=1'],
  ['/a/..', '307 /'],
  ['/pods/.', '307 /pods/'],
  ['/../../etc/passwd', '307 /etc/passwd'],
  ['/logs/%2e%2e/x', '400'],
  ['/logs/..%2fx', '400'],
  ['/a%2f%2fb', '400'],
  ['/a%00', '400'],
  ['/%', '400'],
  ['*', '400'],
  ['', '400'],
  ['https://node:10250', '400'],
];
table('request targets are parsed', (row) => {
  for (const [target, want] of targets) {
    row(`the target ${target} becomes ${want}`, () => {
      const read = parseRequestTarget(target);
      const got = 'path' in read ? read.path : `${read.status} ${read.headers['Location'] ?? ''}`.trim();
      assert.equal(got, want);
    });
  }
});

test('a pattern with a trailing slash matches its subtree, the longest match wins, and a missing slash is redirected', () => {
  const mux = new ServeMux({ '/a': 1, '/a/': 2, '/a/b/': 3, '/c/': 4 });
  const find = (path: string) => {
    const found = mux.find(path);
    return found === null ? null : 'handler' in found ? found.handler : found.reply.headers['Location'];
  };
  assert.deepEqual(['/a', '/a/', '/a/x', '/a/b', '/a/b/', '/a/b/c', '/c', '/c/d', '/d', '/'].map(find), [
    1,
    2,
    2,
    2,
    3,
    3,
    '/c/',
    4,
    null,
    null,
  ]);
  assert.deepEqual(mux.roots(), ['/a', '/c']);
});
