/** The only link from main to the code of the threads: the URL of a thread's entry, as a source (`.ts`) or compiled (`.js`). */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** Whether threads run the TypeScript sources, as in tests. */
export const runsSources = extension === 'ts';

/** The short-lived thread that reads a changed configuration. */
export function configLoaderUrl(): URL {
  return new URL(`../../main/config-reload/loader-thread.${extension}`, import.meta.url);
}

export function entryUrl(thread: 'pleg' | 'images' | 'stats' | 'probes' | 'server' | 'health' | 'pod-sync'): URL {
  return new URL(`../../workers/${thread}/index.${extension}`, import.meta.url);
}
