/**
 * Which handler a path belongs to, as Go's http.ServeMux finds it: a pattern that ends with a slash is a folder with all below it, any
 * other is itself; the longest that fits counts; a folder asked for without its slash is redirected. Pure.
 */
import { movedTo, type Reply } from '../../shared/http/reply.ts';

export type MuxMatch<T> = { readonly handler: T } | { readonly reply: Reply } | null;

export class ServeMux<T> {
  readonly #exact: ReadonlyMap<string, T>;
  /** Longest first. */
  readonly #folders: readonly (readonly [prefix: string, handler: T])[];

  constructor(patterns: Readonly<Record<string, T>>) {
    this.#exact = new Map(Object.entries(patterns));
    this.#folders = Object.entries(patterns)
      .filter(([pattern]) => pattern.endsWith('/'))
      .sort(([a], [b]) => b.length - a.length);
  }

  /** @param path decoded and clean */
  find(path: string): MuxMatch<T> {
    const handler = this.#exact.get(path) ?? this.#folders.find(([prefix]) => path.startsWith(prefix))?.[1];
    if (handler !== undefined) return { handler };
    return this.#exact.has(`${path}/`) ? { reply: movedTo(`${encodeURI(path)}/`) } : null;
  }

  /** `/exec`, `/pods`, …: the first segments of what is served, each once. */
  roots(): string[] {
    return [...new Set([...this.#exact.keys()].map((path) => `/${path.split('/')[1]}`))].sort();
  }
}
