import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toLazyBuiltins } from '../../../../scripts/bundle/lazy-builtins.ts';
import { table } from '../../../support/table.ts';

const http = 'globalThis.process.getBuiltinModule("node:http")';

const cases: { readonly name: string; readonly code: string; readonly expected: string }[] = [
  { name: 'a name', code: `import { request } from "node:http";`, expected: `const { request: request } = ${http};` },
  {
    name: 'another local name',
    code: `import { request as r, Agent } from "node:http"; r();`,
    expected: `const { request: r, Agent: Agent } = ${http}; r();`,
  },
  { name: 'the whole module', code: `import http from "node:http";`, expected: `const http = ${http};` },
  { name: 'its namespace', code: `import * as http from "node:http";`, expected: `const http = ${http};` },
  {
    name: 'both',
    code: `import http, { request } from "node:http";`,
    expected: `const http = ${http}; const { request: request } = ${http};`,
  },
  { name: 'nothing', code: `import "node:http"; a();`, expected: ` a();` },
  { name: 'other modules', code: `import { a } from "./a.js"; import "b";`, expected: `import { a } from "./a.js"; import "b";` },
];
table('bundled code takes what it needs of Node’s modules', (row) => {
  for (const { name, code, expected } of cases) row(name, () => assert.equal(toLazyBuiltins(code, 'a.js'), expected));
});

test('a build fails where a chunk exports what it imports of Node', () => {
  assert.throws(() => toLazyBuiltins(`export { request } from "node:http";`, 'a.js'), /a\.js: exports what it imports from node:http/);
});
