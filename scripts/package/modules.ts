/** What of node_modules is shipped: the packages that the bundle loads at run time, Node itself, and the licences of everything in the bundle. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ShippedModules {
  /** The folder of the package that has Node. */
  readonly node: string;
  /** Relative to node_modules. */
  readonly files: readonly string[];
  readonly licences: readonly string[];
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly os?: readonly string[]; readonly cpu?: readonly string[] }>
  >;
}

/** The packages that rolldown.config.ts leaves out of the bundle, without their sources and documentation. */
const loadedAtRunTime = [
  'piscina/package.json',
  'piscina/dist/**/*.{js,mjs}',
  'koffi/package.json',
  'koffi/*.{js,cjs}',
  'koffi/src/koffi/**/*.{js,cjs}',
  `@koromix/koffi-linux-${process.arch}/{package.json,index.js}`,
  // Node is built for glibc.
  `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/*.node`,
];
const buildTool = 'koffi/cnoke.cjs';

export function shippedModules(project: string): ShippedModules {
  const modules = join(project, 'node_modules');
  const files = loadedAtRunTime.flatMap((pattern) => {
    const found = globSync(pattern, { cwd: modules }).filter((file) => file !== buildTool);
    if (found.length === 0) throw new Error(`node_modules has no ${pattern}: packages for another architecture, or of another version`);
    return found;
  });
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as Lock;
  const licences = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .flatMap(([path]) =>
      globSync('{LICENSE,LICENCE,License,license}*', { cwd: join(project, path) }).map((file) => join(project, path, file)),
    );
  return { node: join(modules, `node-linux-${process.arch}`), files: files.toSorted(), licences: licences.toSorted() };
}
