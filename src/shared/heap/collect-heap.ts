/** Collects the heap of the calling thread. V8 exposes that to contexts that are created after a flag is set. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { readonly type: 'major'; readonly flavor: 'regular' | 'last-resort' }) => void;

let collect: Collect | undefined;

/**
 * Takes some ten milliseconds; the context is created at the first call, not at the thread's start.
 * @param flavor `last-resort` also frees what could still be of use, such as compiled code
 */
export function collectHeap(flavor: 'regular' | 'last-resort'): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  collect({ type: 'major', flavor });
}
