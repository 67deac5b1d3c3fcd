/**
 * The helper process's entry: answers `HelperRequest`s of one thread of the daemon, all at once, each in a file thread of its own: one
 * that hangs takes nothing from the others until the client ends this process. It holds no state and outlives no parent.
 */
import type { HelperOperations, HelperReply, HelperRequest } from '../shared/contracts/helper.ts';
import { messageOf } from '../shared/errors/kubelet-error.ts';
import { checkHostPath } from './host-path.ts';
import { mountFilesystem, unmountTarget } from './mount-filesystem.ts';
import { changeOwnership } from './ownership.ts';
import { removeTreeSlice } from './remove-tree-slice.ts';
import { bindSubpath, readFileWithin } from './subpath.ts';
import { statfsOf } from './statfs.ts';

type Operations = {
  readonly [K in keyof HelperOperations]: (request: HelperOperations[K]['request']) => Promise<HelperOperations[K]['reply']>;
};

const operations: Operations = {
  checkHostPath,
  mountFilesystem,
  unmount: unmountTarget,
  bindSubpath,
  changeOwnership,
  removeTree: removeTreeSlice,
  readFile: readFileWithin,
  statfs: statfsOf,
};

async function answer({ id, operation, request }: HelperRequest): Promise<HelperReply> {
  try {
    return {
      id,
      reply: await (operations[operation] as (request: unknown) => Promise<HelperOperations[typeof operation]['reply']>)(request),
    };
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    return { id, failure: { message: messageOf(err), ...(code === undefined ? {} : { code }) } };
  }
}

// Without "kubelet" in it: `pgrep kubelet` finds the daemon only.
process.title = 'kube-helper';
process.on('message', (request: HelperRequest) => {
  void answer(request).then((reply) => process.send?.(reply));
});
// process.exit() waits for file threads, and one of them may hang for good.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Those of the terminal or the service manager are for the daemon, which ends this process when it is done with it.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
