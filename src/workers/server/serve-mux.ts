/**
 * Finds the handler of a path as Go's http.ServeMux does: a pattern with a trailing slash matches its whole subtree, any other only
 * itself; the longest match wins; a subtree requested without its slash is redirected. Pure.
 */
import { movedTo, type Reply } from '../../shared/http/reply.ts';

export type MuxMatch<T> = { readonly handler: T } | { readonly reply: Reply } | null;

export class ServeMux<T> {
  readonly #exact: ReadonlyMap<string, T>;
  /** Longest first. */
  readonly #subtrees: readonly (readonly [prefix: string, handler: T])[];

  constructor(patterns: Readonly<Record<string, T>>) {
    this.#exact = new Map(Object.entries(patterns));
    this.#subtrees = Object.entries(patterns)
      .filter(([pattern]) => pattern.endsWith('/'))
      .sort(([a], [b]) => b.length - a.length);
  }

  /** @param path decoded and clean */
  find(path: string): MuxMatch<T> {
    const handler = this.#exact.get(path) ?? this.#subtrees.find(([prefix]) => path.startsWith(prefix))?.[1];
    if (handler !== undefined) return { handler };
    return this.#exact.has(`${path}/`) ? { reply: movedTo(`${encodeURI(path)}/`) } : null;
  }

  /** Returns the distinct first segments of the patterns: `/exec`, `/pods`, … */
  roots(): string[] {
    return [...new Set([...this.#exact.keys()].map((path) => `/${path.split('/')[1]}`))].sort();
  }
}
