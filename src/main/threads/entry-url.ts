/** The only link from main to the code of the threads: the URL of a thread's entry, as a source (`.ts`) or compiled (`.js`). */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

export function entryUrl(thread: 'pleg' | 'images' | 'stats' | 'probes' | 'server' | 'health' | 'pod-sync'): URL {
  return new URL(`../../workers/${thread}/index.${extension}`, import.meta.url);
}
