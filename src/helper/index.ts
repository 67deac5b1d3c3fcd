/**
 * The entry of the helper process, which makes the file system calls that may hang in the kernel. Handles the requests of one thread in
 * parallel, each in its own libuv thread, so that a call that hangs does not delay the others; only the measurement of trees blocks the process. Keeps no state
 * but the walks that have begun, and ends with its parent.
 */
import type { HelperCancellation, HelperOperations, HelperProgress, HelperReply, HelperRequest } from '../shared/contracts/helper.ts';
import { messageOf } from '../shared/errors/kubelet-error.ts';
import { checkHostPath } from './host-path.ts';
import { mountFilesystem, unmountTarget } from './mount-filesystem.ts';
import { inspectVolumeSource } from './inspect-volume-source.ts';
import type { OperationRun } from './operation-run.ts';
import { changeTreeOwnership } from './ownership.ts';
import { removeTreeSlice } from './remove-tree-slice.ts';
import { measureTrees } from '../shared/tree-usage/measure-trees.ts';
import { bindSubpath, readFileWithin } from './subpath.ts';
import { readFilesystemSizes } from './statfs.ts';

type Operations = {
  readonly [K in keyof HelperOperations]: (
    request: HelperOperations[K]['request'],
    run: OperationRun,
  ) => Promise<HelperOperations[K]['reply']>;
};

const operations: Operations = {
  checkHostPath,
  mountFilesystem,
  unmount: unmountTarget,
  bindSubpath,
  changeOwnership: changeTreeOwnership,
  removeTree: removeTreeSlice,
  readFile: readFileWithin,
  statfs: readFilesystemSizes,
  inspectVolumeSource,
  measureTrees: async (request) => measureTrees(request),
};

const running = new Map<number, AbortController>();

async function handle({ id, operation, request }: HelperRequest): Promise<HelperReply> {
  const controller = new AbortController();
  running.set(id, controller);
  const run: OperationRun = { signal: controller.signal, reportFiles: (files) => send({ id, files }) };
  try {
    const operate = operations[operation] as (request: unknown, run: OperationRun) => Promise<HelperOperations[typeof operation]['reply']>;
    return { id, reply: await operate(request, run) };
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    return { id, failure: { message: messageOf(err), ...(code === undefined ? {} : { code }) } };
  } finally {
    running.delete(id);
  }
}

function send(message: HelperReply | HelperProgress): void {
  process.send?.(message);
}

// The name does not contain "kubelet", so that `pgrep kubelet` finds only the daemon.
process.title = 'kube-helper';
process.on('message', (message: HelperRequest | HelperCancellation) => {
  if ('isCanceled' in message) running.get(message.id)?.abort(new Error('canceled'));
  else void handle(message).then(send);
});
// process.exit() waits for libuv's threads, and one of them may hang forever.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Signals of the terminal or the service manager are for the daemon, which ends this process after its last request.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
