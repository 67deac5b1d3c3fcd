/** Collects the heap of the calling thread. V8 has the function `gc` only in contexts that are created after the flag --expose-gc is set. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { readonly type: 'major'; readonly flavor: 'regular' | 'last-resort' }) => void;

let collect: Collect | undefined;

/**
 * A collection takes about ten milliseconds. The first call creates the context, so that a thread's start does not wait for it.
 * @param flavor `last-resort` also frees what could still be of use, such as compiled code
 */
export function collectHeap(flavor: 'regular' | 'last-resort'): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  collect({ type: 'major', flavor });
}
