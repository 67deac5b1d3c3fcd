/** Measures the pleg thread's relist without changes on the simulated runtime: the cost that occurs every second. */
import { tmpdir } from 'node:os';
import { pino } from 'pino';
import { PlegThread } from '../src/main/threads/pleg-thread.ts';
import { SharedThreadState } from '../src/main/threads/shared-thread-state.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../src/shared/state/runtime-snapshot.ts';
import { PodRecords } from '../src/workers/pleg/records/pod-records.ts';
import { monotonicMs } from '../src/shared/time/clock.ts';
import { CriDriver } from './driver/cri-driver.ts';
import type { Benchmark, BenchContext, Measurement } from './harness/benchmark.ts';
import { countAllocatedObjects } from './harness/count-objects.ts';
import { percentile } from './harness/statistics.ts';
import { startRuntimeProcess } from '../lab/simulated-runtime/client.ts';

const repeats = 300;
const warmUps = 50;
/** Goal for the small node: the excess over the runtime's list calls. */
const overheadGoalMs = 3;
/** Goal for the large node. */
const largeGoalMs = 40;
const objectsGoal = 100;
/** Disables periodic relists. */
const noPeriodMs = 3_600_000;

export const benchmark: Benchmark = {
  name: 'relist',
  about:
    'One relist of the pleg thread when nothing has changed, simulated runtime; the floor is both list calls made concurrently by a bare driver, which does not decode them.',
  needs: 'none',
  async run(context) {
    const small = await measure(context, 500, (p99, floor) => ({
      text: `floor + ${overheadGoalMs} ms`,
      met: p99 <= floor + overheadGoalMs,
    }));
    const large = await measure(context, 2500, (p99) => ({ text: `${largeGoalMs} ms`, met: p99 <= largeGoalMs }));
    return { repeats: `${repeats} relists each, alternating with the floor's calls`, measurements: [...small, ...large] };
  },
};

async function measure(
  { progress, onEnd }: BenchContext,
  pods: number,
  goalOf: (p99: number, floorP99: number) => Measurement['goal'] & object,
): Promise<Measurement[]> {
  const node = `${pods.toLocaleString('en-US')} pods / ${(pods * 2).toLocaleString('en-US')} containers`;
  progress(`${node} …`);
  const runtime = await startRuntimeProcess();
  onEnd(() => runtime.stop());
  await runtime.control.seed({ pods, containersPerPod: 2 });
  const driver = new CriDriver(runtime.endpoint, '');
  const pleg = startPleg(runtime.endpoint, pods);
  onEnd(async () => {
    await pleg.close();
    await driver.close();
  });
  const times: number[] = [];
  const floors: number[] = [];
  let bytes = 0;
  for (let round = -warmUps; round < repeats; round += 1) {
    const began = monotonicMs();
    await pleg.relist();
    const took = monotonicMs() - began;
    const floor = await driver.listPods();
    if (round < 0) continue;
    times.push(took);
    floors.push(floor.ms);
    bytes = floor.bytes;
  }
  const own = await measureComparison(await driver.listPodsRaw(), pods);
  const cpu = await measureCpuMs(() => pleg.relist());
  const floorCpu = await measureCpuMs(() => driver.listPods());
  await pleg.close();
  await runtime.stop();
  const both = (percent: number) => [percentile(times, percent), percentile(floors, percent)] as const;
  const [p50, floor50] = both(50);
  const [p99, floor99] = both(99);
  return [
    { what: `relist p50, ${node}`, value: p50, unit: 'ms', floor: { what: 'bare lists', value: floor50 } },
    { what: `relist p99, ${node}`, value: p99, unit: 'ms', floor: { what: 'bare lists', value: floor99 }, goal: goalOf(p99, floor99) },
    { what: `CPU of a relist, ${node}`, value: cpu, unit: 'ms', floor: { what: 'bare lists', value: floorCpu } },
    { what: `scanning and comparing both lists, p50, ${node}`, value: own.ms, unit: 'ms' },
    {
      what: `JS objects made by that, ${node}`,
      value: own.objects,
      unit: '',
      goal: { text: `${objectsGoal}`, met: own.objects < objectsGoal },
    },
    { what: `bytes of both lists, ${node}`, value: bytes / 1e6, unit: 'MB' },
  ];
}

function startPleg(runtimeEndpoint: string, pods: number): PlegThread {
  const logger = pino({ level: 'silent' });
  const state = new SharedThreadState({
    logging: { format: 'text', verbosity: 0, vmodule: [] },
    podSyncThreads: 1,
    syncFrequencyMs: 60_000,
  });
  const settings = {
    runtimeEndpoint,
    relistPeriodMs: noPeriodMs,
    runtimeRequestTimeoutMs: 120_000,
    useEventStream: false,
    rootDir: tmpdir(),
    podLogsDir: tmpdir(),
    snapshot: createRuntimeSnapshot(pods),
  };
  return PlegThread.start({ state, logger, settings, onMessage: () => {} });
}

/** Measures what the kubelet adds to the calls: scanning and comparing the same replies repeatedly, in this thread. */
async function measureComparison(
  [sandboxes, containers]: readonly [Buffer, Buffer],
  pods: number,
): Promise<{ ms: number; objects: number }> {
  const records = new PodRecords(new RuntimeSnapshotWriter(createRuntimeSnapshot(pods)), (id, reason) => {
    throw new Error(`${id} was left out: ${reason}`);
  });
  const compare = () => records.applyLists([sandboxes], [containers], monotonicMs(), monotonicMs());
  const times: number[] = [];
  for (let round = -warmUps; round < repeats; round += 1) {
    const began = monotonicMs();
    compare();
    if (round >= 0) times.push(monotonicMs() - began);
  }
  return { ms: percentile(times, 50), objects: await countAllocatedObjects(compare) };
}

/** Returns the CPU ms of this process per call, including the pleg thread. */
async function measureCpuMs(act: () => Promise<unknown>): Promise<number> {
  const iterations = 200;
  const before = process.cpuUsage();
  for (let iteration = 0; iteration < iterations; iteration += 1) await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / iterations;
}
