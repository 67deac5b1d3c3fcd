/** The only link from main to the code of the threads: the URL of a thread's entry, as a source (`.ts`) or compiled (`.js`). */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/**
 * The environment of threads. It disables Node's compile cache: each thread would keep a copy of the cache in memory, and start hardly faster. The
 * cache stays for TypeScript sources (in tests), because it also saves their compilation.
 */
export const threadEnvironment: NodeJS.ProcessEnv = extension === 'ts' ? process.env : { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };

/** The short-lived thread that reads a changed configuration. */
export function configLoaderUrl(): URL {
  return new URL(`../../main/config-reload/loader-thread.${extension}`, import.meta.url);
}

export function entryUrl(thread: 'pleg' | 'images' | 'stats' | 'probes' | 'server' | 'health' | 'plugins' | 'volumes' | 'pod-sync'): URL {
  return new URL(`../../workers/${thread}/index.${extension}`, import.meta.url);
}
