/** Runs the build's configuration on small sources: errors that would occur in the shipped bundle fail the build. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { rolldown } from 'rolldown';
import config from '../../../rolldown.config.ts';

const project = join(import.meta.dirname, '../../..');

/** Bundles one source file with the product's configuration. Returns the build's error, or an empty string. */
async function buildError(t: TestContext, source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'part'));
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'part/common.cjs'), 'exports.known = 1;\n');
  writeFileSync(join(folder, 'index.ts'), source);
  const { entryFileNames, chunkFileNames } = Array.isArray(config.output) ? {} : (config.output ?? {});
  const input = { 'src/main/index': join(folder, 'index.ts'), 'src/workers/a/index': join(folder, 'part/common.cjs') };
  const bundle = await rolldown({ ...config, input });
  try {
    await bundle.generate({ entryFileNames, chunkFileNames });
    return '';
  } catch (err) {
    return String(err);
  } finally {
    await bundle.close();
  }
}

const cases: { name: string; source: string; error: RegExp | null }[] = [
  { name: 'a static import of an existing export', source: `import { Agent } from 'undici'; console.log(Agent);`, error: null },
  {
    name: 'a static import of a missing export',
    source: `import { request } from 'undici'; console.log(request);`,
    error: /"request" is not exported/,
  },
  { name: 'a missing member of a namespace', source: `import * as undici from 'undici'; console.log(undici.request);`, error: /request/ },
  { name: 'a dynamic import of an existing export', source: `const { Agent } = await import('undici'); console.log(Agent);`, error: null },
  {
    name: 'a dynamic import of a missing export',
    source: `const { Agent, request } = await import('undici'); console.log(Agent, request);`,
    error: /index\.ts: imports request, which \S+undici\.js does not export/,
  },
  {
    name: 'a missing member of a dynamic import',
    source: `console.log((await import('undici')).fetch);`,
    error: /imports fetch/,
  },
  {
    name: 'a missing member of a dynamic import in a variable',
    source: `const undici = await import('undici'); console.log(undici.Agent, undici.Client);`,
    error: /imports Client/,
  },
  { name: 'a CommonJS module’s name', source: `console.log((await import('./part/common.cjs')).known);`, error: null },
  { name: 'a CommonJS module’s default', source: `console.log((await import('./part/common.cjs')).default);`, error: null },
  {
    name: 'a missing export of a CommonJS module',
    source: `console.log((await import('./part/common.cjs')).missing);`,
    error: /imports missing/,
  },
  {
    name: 'a computed member name',
    source: `const key = process.argv[2]!; console.log((await import('undici'))[key]);`,
    error: /can't be checked/,
  },
  { name: 'a namespace passed to a function', source: `const all = await import('undici'); console.log(all);`, error: /can't be checked/ },
  { name: 'a promise passed to a function', source: `console.log(import('undici'));`, error: /can't be checked/ },
  {
    name: 'a computed module name',
    source: `const path = process.argv[2]!; console.log((await import(path)).x);`,
    error: /import\(…\) needs can't be checked/,
  },
  { name: 'a package that is not installed', source: `console.log((await import('no-such-package')).x);`, error: /no-such-package/ },
  {
    name: 'an existing entry',
    source: 'const thread = process.argv[2]!; console.log(new URL(`../workers/${thread}/index.js`, import.meta.url));',
    error: null,
  },
  {
    name: 'a missing entry',
    source: 'const thread = process.argv[2]!; console.log(new URL(`../../workers/${thread}/index.js`, import.meta.url));',
    error: /src\/main\/index\.js: names workers\/\*\/index\.js, which is not in the bundle/,
  },
  {
    name: 'a missing file',
    source: `console.log(new URL('./proto/x.proto', import.meta.url));`,
    error: /names src\/main\/proto\/x\.proto/,
  },
];
for (const { name, source, error } of cases) {
  test(`${error === null ? 'the build accepts' : 'the build fails on'} ${name}`, async (t) => {
    const actual = await buildError(t, source);
    if (error === null) assert.equal(actual, '');
    else assert.match(actual, error);
  });
}
