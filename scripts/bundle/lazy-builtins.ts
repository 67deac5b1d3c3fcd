/**
 * Takes what the bundled code needs of Node's own modules from `process.getBuiltinModule`. An ES import of such a module reads each of its exports, also
 * those that Node loads at their first use: `node:http` brings undici, http2 and the web streams into each thread (5 MB; nodejs/node#59686).
 */
import { isBuiltin } from 'node:module';
import type { Plugin } from 'rolldown';
import { parseSync, type ESTree } from 'rolldown/utils';
import { rewriteChunks } from './rewrite-chunks.ts';

export const lazyBuiltins = (): Plugin => rewriteChunks('lazy-builtins', toLazyBuiltins);

/** Throws where the code exports what it imports. */
export function toLazyBuiltins(code: string, fileName: string): string {
  const pieces: string[] = [];
  let end = 0;
  for (const node of parseSync(fileName, code).program.body) {
    if (!('source' in node) || !node.source || !isBuiltin(node.source.value)) continue;
    if (node.type !== 'ImportDeclaration') throw new Error(`${fileName}: exports what it imports from ${node.source.value}`);
    pieces.push(code.slice(end, node.start), declarationOf(node));
    end = node.end;
  }
  return [...pieces, code.slice(end)].join('');
}

function declarationOf({ source, specifiers }: ESTree.ImportDeclaration): string {
  // A chunk may have a binding that is called `process`.
  const module = `globalThis.process.getBuiltinModule(${JSON.stringify(source.value)})`;
  const members = specifiers.flatMap((one) => (one.type === 'ImportSpecifier' ? [`${nameOf(one.imported)}: ${one.local.name}`] : []));
  const wholes = specifiers.filter(({ type }) => type !== 'ImportSpecifier').map(({ local }) => `const ${local.name} = ${module};`);
  return [...wholes, ...(members.length > 0 ? [`const { ${members.join(', ')} } = ${module};`] : [])].join(' ');
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? JSON.stringify(name.value) : name.name;
}
