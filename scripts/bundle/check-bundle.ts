/**
 * Fails the build for errors that would occur at run time: a dynamic import of a name that the module does not export (the bundler checks
 * only static imports), a thread's entry that is not in the bundle, a package that is neither bundled nor a dependency.
 */
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix, sep } from 'node:path';
import type { ModuleInfo, Plugin, PluginContext } from 'rolldown';
import { parseSync } from 'rolldown/utils';
import { findDynamicImports, findRelativeURLs } from './imported-names.ts';

const root = join(import.meta.dirname, '../..');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };

export function checkBundle(): Plugin {
  let ownModules: ModuleInfo[] = [];
  return {
    name: 'check-bundle',
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(message);
    },
    buildStart() {
      ownModules = [];
    },
    moduleParsed(module) {
      if (!module.id.includes(`${sep}node_modules${sep}`)) ownModules.push(module);
    },
    async buildEnd() {
      const problems = await Promise.all(ownModules.map((module) => missingNames(this, module)));
      if (problems.flat().length > 0) throw new Error(problems.flat().join('\n'));
    },
    generateBundle(_, bundle) {
      const files = Object.keys(bundle);
      const problems = Object.values(bundle).flatMap((chunk) => {
        if (chunk.type !== 'chunk') return [];
        const imports = [...chunk.imports, ...chunk.dynamicImports];
        const foreign = imports.filter((id) => !files.includes(id) && !isBuiltin(id) && dependencies[id] === undefined);
        return [
          ...foreign.map((id) => `${chunk.fileName}: imports ${id}, which is neither bundled nor a dependency`),
          ...missingFiles(chunk.fileName, chunk.code, files),
        ];
      });
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
  };
}

async function missingNames(context: PluginContext, { id, code }: ModuleInfo): Promise<readonly string[]> {
  if (code === null || !code.includes('import(')) return [];
  const problems = findDynamicImports(parseSync(id, code).program).map(async ({ source, names }) => {
    if (source === null || names === null) return [`${id}: the names that import(${source ?? '…'}) needs can't be checked`];
    const resolved = await context.resolve(source, id);
    if (resolved === null || resolved.external) return [];
    const { exports = [], inputFormat } = context.getModuleInfo(resolved.id) ?? {};
    // Each CommonJS module has a default export for importers.
    const exported = inputFormat === 'cjs' ? [...exports, 'default'] : exports;
    return names.filter((name) => !exported.includes(name)).map((name) => `${id}: imports ${name}, which ${resolved.id} does not export`);
  });
  return (await Promise.all(problems)).flat();
}

/** A part that is only known at run time is a wildcard within its folder. At least one file must match. */
function missingFiles(fileName: string, code: string, files: readonly string[]): readonly string[] {
  if (!code.includes('new URL(')) return [];
  return findRelativeURLs(parseSync(fileName, code).program).flatMap((parts) => {
    const path = posix.join(posix.dirname(fileName), parts.map((part) => part ?? '*').join(''));
    return files.some((file) => posix.matchesGlob(file, path)) ? [] : [`${fileName}: names ${path}, which is not in the bundle`];
  });
}
