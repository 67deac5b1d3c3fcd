/**
 * Bundles the daemon, the helper and the simulated runtime. Finding and loading single modules in each thread took half of the CPU time of a
 * start (docs/decisions/010-bundle.md).
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'rolldown';
import { checkBundle } from './scripts/bundle/check-bundle.ts';
import { lazyBuiltins } from './scripts/bundle/lazy-builtins.ts';
import { oneByteText } from './scripts/bundle/one-byte-text.ts';

/** The programs and the threads' entries. Their paths in `dist/` are those of the sources. */
const entries = [
  'src/main/cli.ts',
  'src/main/config-reload/loader-thread.ts',
  'src/helper/index.ts',
  'lab/simulated-runtime/index.ts',
  ...globSync('src/workers/*/index.ts'),
];

/** Replaces a package by a part of it. */
const replacement = (name: string) => join(import.meta.dirname, `scripts/bundle/${name}.js`);

export default defineConfig({
  input: Object.fromEntries(entries.map((path) => [path.replace(/\.ts$/, ''), path])),
  platform: 'node',
  // These packages load files next to their modules: a native library, a worker.
  external: ['koffi', 'piscina'],
  resolve: { alias: { undici$: replacement('undici'), '@grpc/proto-loader$': replacement('proto-loader') } },
  plugins: [checkBundle(), lazyBuiltins(), oneByteText()],
  // A busy host is no defect of the bundle.
  checks: { bundlerTimings: false },
  output: {
    dir: 'dist',
    entryFileNames: '[name].js',
    // The same depth as the modules that name a thread's entry by a relative URL.
    chunkFileNames: 'src/shared/chunks/[name].js',
    comments: { legal: true, annotation: false, jsdoc: false },
  },
});
