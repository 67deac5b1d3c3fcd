import type { Plugin } from 'rolldown';

/** Rewrites the code of each chunk. Not in `renderChunk`: the bundler prints its result again, and would undo escapes. */
export function rewriteChunks(name: string, rewrite: (code: string, fileName: string) => string): Plugin {
  return {
    name,
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk') chunk.code = rewrite(chunk.code, chunk.fileName);
    },
  };
}
