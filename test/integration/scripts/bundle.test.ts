/** The build's own configuration on small sources: what would fail in the shipped bundle fails the build. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { rolldown } from 'rolldown';
import config from '../../../rolldown.config.ts';

const project = join(import.meta.dirname, '../../..');

/** Bundles one source file as the product is bundled. Answers with what the build complains of. */
async function complaintOf(t: TestContext, source: string): Promise<string> {
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

const cases: { name: string; source: string; complaint: RegExp | null }[] = [
  { name: 'a static import of what the shim has', source: `import { Agent } from 'undici'; console.log(Agent);`, complaint: null },
  {
    name: 'a static import of what it lacks',
    source: `import { request } from 'undici'; console.log(request);`,
    complaint: /"request" is not exported/,
  },
  { name: 'a member that it lacks', source: `import * as undici from 'undici'; console.log(undici.request);`, complaint: /request/ },
  { name: 'a dynamic import of what it has', source: `const { Agent } = await import('undici'); console.log(Agent);`, complaint: null },
  {
    name: 'a dynamic import of what it lacks',
    source: `const { Agent, request } = await import('undici'); console.log(Agent, request);`,
    complaint: /index\.ts: imports request, which \S+undici\.js does not export/,
  },
  {
    name: 'a member of a dynamic import that it lacks',
    source: `console.log((await import('undici')).fetch);`,
    complaint: /imports fetch/,
  },
  {
    name: 'a member of a dynamic import under a name, that it lacks',
    source: `const undici = await import('undici'); console.log(undici.Agent, undici.Client);`,
    complaint: /imports Client/,
  },
  { name: 'a CommonJS module’s name', source: `console.log((await import('./part/common.cjs')).known);`, complaint: null },
  { name: 'a CommonJS module’s default', source: `console.log((await import('./part/common.cjs')).default);`, complaint: null },
  {
    name: 'a name that a CommonJS module lacks',
    source: `console.log((await import('./part/common.cjs')).missing);`,
    complaint: /imports missing/,
  },
  {
    name: 'names in a variable',
    source: `const key = process.argv[2]!; console.log((await import('undici'))[key]);`,
    complaint: /can't be checked/,
  },
  { name: 'a whole namespace handed on', source: `const all = await import('undici'); console.log(all);`, complaint: /can't be checked/ },
  { name: 'a promise handed on', source: `console.log(import('undici'));`, complaint: /can't be checked/ },
  {
    name: 'a module in a variable',
    source: `const path = process.argv[2]!; console.log((await import(path)).x);`,
    complaint: /import\(…\) needs can't be checked/,
  },
  { name: 'a package that is not installed', source: `console.log((await import('no-such-package')).x);`, complaint: /no-such-package/ },
  {
    name: 'an entry that is there',
    source: 'const thread = process.argv[2]!; console.log(new URL(`../workers/${thread}/index.js`, import.meta.url));',
    complaint: null,
  },
  {
    name: 'an entry that is not there',
    source: 'const thread = process.argv[2]!; console.log(new URL(`../../workers/${thread}/index.js`, import.meta.url));',
    complaint: /src\/main\/index\.js: names workers\/\*\/index\.js, which is not in the bundle/,
  },
  {
    name: 'a file that is not there',
    source: `console.log(new URL('./proto/x.proto', import.meta.url));`,
    complaint: /names src\/main\/proto\/x\.proto/,
  },
];
for (const { name, source, complaint } of cases) {
  test(`${complaint === null ? 'the build takes' : 'the build fails on'} ${name}`, async (t) => {
    const answer = await complaintOf(t, source);
    if (complaint === null) assert.equal(answer, '');
    else assert.match(answer, complaint);
  });
}
