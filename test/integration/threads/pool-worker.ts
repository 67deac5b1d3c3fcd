/** A worker of the sync pool for the tests of supervision. The pod's UID selects what a task does. */
import type { MessageToTask, MessageToMain, PodSyncNotification } from '../../../src/shared/contracts/pod-sync/channel.ts';
import type { DecodeManifestResult, DecodeManifestTask } from '../../../src/shared/contracts/pod-sync/decode-manifest.ts';
import type { PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { PodSyncTask, PodSyncTaskReply } from '../../../src/shared/contracts/pod-sync/task.ts';
import { surviveFaults } from '../../../src/shared/faults/survive-faults.ts';
import { enterPoolThread } from '../../../src/shared/thread/enter-thread.ts';

const { workerData, slot, logger } = enterPoolThread();
/** True if `require` loaded this module: its frames are on the stack. */
const isRequired = new Error().stack?.includes('internal/modules/cjs') ?? true;
const done: PodSyncResult = { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true };

export default async function podSyncTask(task: PodSyncTask): Promise<PodSyncTaskReply> {
  const notifications: PodSyncNotification[] = [];
  try {
    return { result: await act(task, notifications), notifications };
  } finally {
    task.channel.close();
  }
}

async function act(task: PodSyncTask, notifications: PodSyncNotification[]): Promise<PodSyncResult> {
  const replies = messages(task);
  const post = (request: MessageToMain) => task.channel.postMessage([request]);
  switch (task.podUID as string) {
    case 'until-stopped':
      for await (const reply of replies) if (reply.type === 'stop') return { ...done, outcome: 'stopped' };
      break;
    case 'until-shrunk':
      for await (const reply of replies) {
        if (reply.type === 'shrinkGracePeriod') return { ...done, retryAtMs: reply.gracePeriodSeconds };
      }
      break;
    case 'permit-then-hang':
      post({ type: 'startPermit', id: 1, kind: 'sandbox' });
      await replies.next();
      post({ type: 'startPermit', id: 2, kind: 'container' });
      await new Promise(() => {});
      break;
    case 'image-and-permit': {
      post({ type: 'startPermit', id: 1, kind: 'sandbox' });
      const permit = (await replies.next()).value;
      post({ type: 'releasePermit', id: 1, succeeded: true });
      post({ type: 'ensureImage', id: 2, image: { image: 'busybox' } as never });
      const image = (await replies.next()).value;
      notifications.push({
        type: 'event',
        event: { object: {} as never, type: 'Normal', reason: 'Seen', message: JSON.stringify([permit, image]) },
      });
      return done;
    }
    case 'leaves-faults':
      setImmediate(() => {
        throw new Error('left behind');
      });
      void Promise.reject(new Error('left behind, as a rejection'));
      return { ...done, retryAtMs: slot };
    case 'is-ready':
      return { ...done, retryAtMs: Number(isReady) };
    case 'is-required':
      return { ...done, retryAtMs: Number(isRequired) };
    case 'which-slot':
      return { ...done, retryAtMs: slot };
    case 'spins-once':
      // Only the first thread blocks.
      if (Atomics.add(new Int32Array(workerData.settings as unknown as SharedArrayBuffer), 0, 1) === 0) for (;;);
      return { ...done, retryAtMs: slot };
    case 'kills-its-thread':
      process.exit(7);
      break;
    default:
      return done;
  }
  return done;
}

let isReady = false;
export async function prepare(): Promise<void> {
  isReady = true;
}

export async function decodeManifest(task: DecodeManifestTask): Promise<DecodeManifestResult> {
  if (task.origin === 'broken') throw new Error('it is broken');
  return { pods: [], errors: [Buffer.from(task.content).toString()], readable: true };
}

async function* messages({ channel }: PodSyncTask): AsyncGenerator<MessageToTask, undefined> {
  const queue: MessageToTask[] = [];
  let wake = () => {};
  channel.on('message', (reply: MessageToTask) => {
    queue.push(reply);
    wake();
  });
  for (;;) {
    const next = queue.shift();
    if (next) yield next;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
}

surviveFaults(logger, 'pod-sync');
