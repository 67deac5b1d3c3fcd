/**
 * The built kubelet with a runtime that sends malformed replies. Malformed replies about one pod affect only that pod; malformed replies
 * about everything end no thread and not the process. `FUZZ_SEED` selects other mutations (test/support/fuzz).
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sample } from 'fast-check';
import { KubeletProcess } from '../../../lab/kubelet/kubelet-process.ts';
import { mutate, mutateBytes, mutations, type Mutation } from '../../support/runtime/hostile-replies.ts';
import { startHostileRuntime, type Reply } from '../../support/runtime/hostile-runtime.ts';
import { fuzzSeeds } from '../../support/fuzz/hostile-pods.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';

const rounds = 30;
/** Each round takes the back-off of a failed start: 10 s. */
const globalRounds = 3;
const mutationsPerRound = 400;
/** One of this many eligible replies is mutated. */
const mutatedOneIn = 3;
const timeoutMs = 60_000;

/** A kubelet, its runtime, and mutations that `arm` activates. */
async function aNode(t: TestContext) {
  const [seed = 0] = fuzzSeeds();
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const runtime = await startSimulatedRuntime(t, {
    images: ['run:1', 'exit:0-after-300ms', 'exit:1-after-200ms'].map((name) => ({ name: `sim/${name}` })),
  });
  let armed: readonly Mutation[] = [];
  let eligible = 0;
  let mutated = 0;
  let isEligible: (reply: Reply) => boolean = () => true;
  const replace = (reply: Reply): Buffer => {
    const mutation = armed.length > 0 && isEligible(reply) ? armed[(eligible += 1) % armed.length] : undefined;
    if (!mutation || eligible % mutatedOneIn !== 0) return reply.bytes;
    mutated += 1;
    return applyMutation(reply, mutation);
  };
  const { endpoint } = await startHostileRuntime(t, runtime.endpoint, replace);
  const kubelet = await KubeletProcess.start({ runtimeEndpoint: endpoint });
  t.after(() => kubelet.stop());
  const arm = (round: number, eligibility: (reply: Reply) => boolean) => {
    isEligible = eligibility;
    armed = sample(mutations, { seed: seed + round, numRuns: mutationsPerRound });
  };
  const disarm = () => void (armed = []);
  const isRunning = async (name: string) => {
    const pod = (await kubelet.pods()).find(({ metadata }) => metadata.name === `${name}-bench`);
    return pod?.status?.phase === 'Running' && pod.status.containerStatuses?.every(({ ready }) => ready);
  };
  const untilRunning = (name: string) =>
    waitUntil(`${name} runs`, () => isRunning(name), timeoutMs).catch((err: unknown) => {
      const lines = kubelet.log().split('\n');
      throw new Error(`${String(err)}\n${lines.filter((line) => line.includes(`/${name}-`)).join('\n')}`, { cause: err });
    });
  const { pid } = kubelet;
  const assertSurvival = async () => {
    assert.equal(kubelet.pid, pid);
    const deaths = (await kubelet.metrics()).split('\n').filter((line) => /^kubelet_thread_deaths_total\S* [1-9]/.test(line));
    assert.deepEqual(deaths, [], kubelet.logTail(60));
  };
  return { runtime, kubelet, arm, disarm, untilRunning, assertSurvival, mutatedReplies: () => mutated };
}

/** Returns the mutated reply, or the original when the mutation does not fit the type of the reply. */
function applyMutation({ reply, bytes, encode }: Reply, mutation: Mutation): Buffer {
  if (mutation.bytes !== null) return mutateBytes(bytes, mutation);
  try {
    return encode(mutate(reply, mutation));
  } catch {
    return bytes;
  }
}

const shapes = [
  { containers: [aContainer('app', 'sim/run:1')] },
  { containers: [aContainer('app', 'sim/exit:1-after-200ms'), aContainer('other', 'sim/run:1')] },
  { restartPolicy: 'OnFailure', containers: [aContainer('app', 'sim/exit:0-after-300ms')] },
  { initContainers: [aContainer('init', 'sim/exit:0-after-300ms')], containers: [aContainer('app', 'sim/run:1')] },
  {
    initContainers: [{ ...aContainer('sidecar', 'sim/run:1'), restartPolicy: 'Always' }],
    containers: [aContainer('app', 'sim/run:1')],
  },
];

function aContainer(name: string, image: string): object {
  return { name, image, imagePullPolicy: 'IfNotPresent' };
}

test('malformed replies about one pod affect only that pod', { timeout: 240_000 }, async (t) => {
  const { kubelet, arm, disarm, untilRunning, assertSurvival, mutatedReplies } = await aNode(t);
  const ids = new Set<string>();
  /** Whether the request or the reply contains the name or an ID of a victim. */
  const concernsVictim = ({ call, request, reply }: Reply): boolean => {
    if (call.startsWith('List') || call.startsWith('Stream') || call === 'Version' || call === 'Status') return false;
    const text = JSON.stringify([request, reply], (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    const concerns = text.includes('victim-') || [...ids].some((id) => text.includes(id));
    const { podSandboxId, containerId } = reply as { podSandboxId?: string; containerId?: string };
    if (concerns) for (const id of [podSandboxId, containerId]) if (id) ids.add(id);
    return concerns;
  };
  for (let round = 0; round < rounds; round += 1) {
    arm(round, concernsVictim);
    shapes.forEach((spec, index) => kubelet.writePod(`victim-${round}-${index}`, { terminationGracePeriodSeconds: 1, ...spec }));
    kubelet.writePod(`canary-${round}`, { terminationGracePeriodSeconds: 1, containers: [aContainer('app', 'sim/run:1')] });
    await untilRunning(`canary-${round}`);
    shapes.forEach((_, index) => kubelet.removePod(`victim-${round}-${index}`));
    if (round > 0) kubelet.removePod(`canary-${round - 1}`);
  }
  disarm();
  assert.ok(mutatedReplies() > 100, `${mutatedReplies()} replies were mutated`);
  await assertSurvival();
});

const lateNames = (round: number): string[] => ['a', 'b', 'c', 'd'].map((letter) => `late-${round}-${letter}`);

test('malformed replies about everything end no thread, and later valid replies are used', { timeout: 240_000 }, async (t) => {
  const { runtime, kubelet, arm, disarm, untilRunning, assertSurvival, mutatedReplies } = await aNode(t);
  shapes.forEach((spec, index) => kubelet.writePod(`pod-${index}`, { terminationGracePeriodSeconds: 1, ...spec }));
  for (let round = 0; round < globalRounds; round += 1) {
    const before = mutatedReplies();
    arm(1000 + round, () => true);
    for (const name of lateNames(round))
      kubelet.writePod(name, { terminationGracePeriodSeconds: 1, containers: [aContainer('app', 'sim/run:1')] });
    await waitUntil('replies were mutated', () => mutatedReplies() >= before + 30, timeoutMs);
    disarm();
    for (const name of lateNames(round)) await untilRunning(name);
  }
  await kubelet.waitUntilHealthy();
  await assertSurvival();
  for (let round = 0; round < globalRounds; round += 1) for (const name of lateNames(round)) kubelet.removePod(name);
  shapes.forEach((_, index) => kubelet.removePod(`pod-${index}`));
  await waitUntil(
    'nothing runs',
    async () => (await runtime.control.state()).containers.every(({ state }) => state !== 'running'),
    timeoutMs,
  ).catch((err: unknown) => {
    throw kubelet.withLog(err);
  });
});

test('a kubelet that starts with malformed replies runs its pods once the replies are valid', { timeout: 240_000 }, async (t) => {
  const { kubelet, arm, disarm, untilRunning, mutatedReplies } = await aNode(t);
  shapes.forEach((spec, index) => kubelet.writePod(`pod-${index}`, { terminationGracePeriodSeconds: 1, ...spec }));
  await untilRunning('pod-0');
  for (let round = 0; round < globalRounds; round += 1) {
    await kubelet.terminate();
    const before = mutatedReplies();
    // A runtime's wrong cgroup driver stays until the next start, as upstream's: it is asked once.
    arm(2000 + round, ({ call }) => call !== 'RuntimeConfig');
    kubelet.restart();
    await waitUntil('replies were mutated', () => mutatedReplies() >= before + 10 || kubelet.hasEnded, timeoutMs);
    disarm();
    await kubelet.waitUntilHealthy();
    await untilRunning('pod-0');
  }
});
