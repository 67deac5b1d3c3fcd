import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultGoProxy, parseGoProxies, readGoSetting } from '../../../lab/programs/go-proxy.ts';
import { table } from '../../support/table.ts';

const origin = 'https://go.dev/dl/mod';
const lists: readonly [list: string, want: string[]][] = [
  [defaultGoProxy, ['https://proxy.golang.org', origin]],
  ['https://a.example/go/,https://b.example', ['https://a.example/go', 'https://b.example']],
  ['https://a.example|https://b.example,direct', ['https://a.example after any error', 'https://b.example', origin]],
  [' a.example , , direct', ['https://a.example', origin]],
  ['direct,https://never.example', [origin]],
  ['https://a.example,off,https://never.example', ['https://a.example']],
  ['/srv/modules', ['file:///srv/modules']],
  ['file:///srv/modules/', ['file:///srv/modules']],
  ['off', []],
  [',', []],
];
table('GOPROXY is parsed to an ordered list of proxies', (row) => {
  for (const [list, want] of lists) {
    row(`GOPROXY=${list} names ${want.length === 0 ? 'no proxy' : want.join(', then ')}`, () => {
      const actual = parseGoProxies(list).map(({ url, fallsBackOnError }) => (fallsBackOnError ? `${url} after any error` : url));
      assert.deepEqual(actual, want);
    });
  }
});

test('a Go setting is read from the environment, then from the file of go env -w', () => {
  const folder = mkdtempSync(join(tmpdir(), 'go-proxy-'));
  try {
    mkdirSync(join(folder, '.config/go'), { recursive: true });
    writeFileSync(join(folder, '.config/go/env'), 'GOFLAGS=-x\nGOPROXY=https://file.example\n');
    writeFileSync(join(folder, 'other'), 'GOPROXY=https://other.example\n');
    const proxy = (environment: NodeJS.ProcessEnv) => readGoSetting('GOPROXY', { HOME: folder, ...environment });
    assert.equal(proxy({}), 'https://file.example');
    assert.equal(proxy({ GOPROXY: 'https://mine.example' }), 'https://mine.example');
    assert.equal(proxy({ GOPROXY: '' }), 'https://file.example');
    assert.equal(proxy({ GOENV: join(folder, 'other') }), 'https://other.example');
    assert.equal(proxy({ GOENV: 'off' }), undefined);
    assert.equal(proxy({ XDG_CONFIG_HOME: folder }), undefined);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
