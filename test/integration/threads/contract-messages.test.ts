/** Every message of the contracts survives the structured clone: a sample of each crosses to a real thread and back. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EventChannel } from '../../../src/main/threads/event-channel.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import { Thread } from '../../../src/main/threads/thread.ts';
import { messages } from '../../../src/shared/contracts/messages.ts';
import { aLogger } from '../../support/logger.ts';
import type { EchoApi, EchoWorkerData } from './echo-thread.ts';
import { failure, samples } from './message-samples.ts';

const { logger } = aLogger();
const state = new SharedThreadState({ logging: { format: 'text', verbosity: 0, vmodule: [] }, podSyncThreads: 1, syncFrequencyMs: 60_000 });
const channel = new EventChannel(() => {}, logger);
const common = state.workerData('probes');
let thread: Thread<EchoApi> | undefined;
function echoThread(): Thread<EchoApi> {
  thread ??= new Thread<EchoApi>({
    name: 'echo',
    entry: new URL('echo-thread.ts', import.meta.url),
    onStart: () => {
      const events = channel.open();
      return { workerData: { ...common, generation: 1, events } satisfies EchoWorkerData, transferList: [events] };
    },
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    threadStatuses: state.threadStatuses,
    heartbeatRow: common.heartbeatRow,
    logger,
  });
  return thread;
}
after(async () => {
  await thread?.close();
  channel.close();
});

for (const [name, { kind, from, to }] of Object.entries(messages)) {
  test(`the ${kind} ${name} from ${from} to ${to} crosses to a thread and back unchanged`, async () => {
    const ofMessage: readonly unknown[] = samples[name as keyof typeof messages];
    assert.ok(ofMessage.length > 0);
    for (const sample of ofMessage)
      assert.deepEqual(await echoThread().call(async (api): Promise<unknown> => await api.echo(sample)), sample);
  });
}

test('no sample is left of a message that the contracts no longer have', () => {
  assert.deepEqual(Object.keys(samples).sort(), Object.keys(messages).sort());
});

test('a failure keeps its reason, the messages of its causes and its delay when it crosses', () => {
  assert.deepEqual(failure, { reason: 'ErrImagePull', message: 'pull busybox: no such host', retryAfterMs: 10_000 });
});
