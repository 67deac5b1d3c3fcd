/**
 * What runs is bundled: of the CPU time that a start takes, finding and loading modules one by one, in each thread anew, was the half; and
 * what no thread calls is in no thread's memory.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'rolldown';
import { checkBundle } from './scripts/bundle/check-bundle.ts';

/** Each program, and each thread's entry: `dist/` has them where the sources are. */
const entries = ['src/main/cli.ts', 'src/helper/index.ts', 'bench/runtime/index.ts', ...globSync('src/workers/*/index.ts')];

export default defineConfig({
  input: Object.fromEntries(entries.map((path) => [path.replace(/\.ts$/, ''), path])),
  platform: 'node',
  // They find files of their own beside their modules: a native library, a worker.
  external: ['koffi', 'piscina'],
  resolve: { alias: { undici$: join(import.meta.dirname, 'scripts/bundle/undici.js') } },
  plugins: [checkBundle()],
  output: {
    dir: 'dist',
    entryFileNames: '[name].js',
    // As deep as the modules that name a thread's entry by a relative URL.
    chunkFileNames: 'src/shared/chunks/[name].js',
    comments: { legal: true, annotation: false, jsdoc: false },
  },
});
