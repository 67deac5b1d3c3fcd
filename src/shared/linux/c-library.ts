/** Calls of the C library's functions through koffi. */
import { createRequire } from 'node:module';
import type Koffi from 'koffi';

/** A function that runs in one of libuv's file threads. */
export type AsyncCall = (...args: [...unknown[], callback: (err: Error | null, result: number) => void]) => void;

export interface CLibrary {
  /** Binds the function of a C prototype. The caller states its type. */
  readonly func: <T>(prototype: string) => T;
  /** Declares structs and pointer types. */
  readonly koffi: typeof Koffi;
  /** Binds functions whose arguments have such types. */
  readonly library: ReturnType<typeof Koffi.load>;
}

/**
 * Returns a function that binds the declared functions at its first call, because most threads never need them. `load(null)` opens no file, since the C
 * library is in the process. koffi is loaded then too: terminating a thread while its addon loads ends the whole process (a fatal error of Node's addon
 * interface). `errno` returns the number of the last blocking call; in the callback of an asynchronous call, the number of that call.
 */
export function bindAtFirstUse<F extends object>(declare: (c: CLibrary) => F): () => F & { readonly errno: () => number } {
  let bound: (F & { readonly errno: () => number }) | undefined;
  return () => {
    if (bound) return bound;
    const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
    const library = koffi.load(null);
    const func = <T>(prototype: string) => library.func(prototype) as unknown as T;
    return (bound = { ...declare({ func, koffi, library }), errno: () => koffi.errno() });
  };
}
