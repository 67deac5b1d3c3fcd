/**
 * The rotation of container logs on the simulated runtime and real files. Each container writes numbered lines; `readLines` returns the numbers
 * in all files of its log, oldest first.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { CriClient } from '../../../src/shared/cri/client.ts';
import type { LogRotationPolicy } from '../../../src/shared/contracts/images.ts';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../src/shared/state/runtime-snapshot.ts';
import { systemClock, type Clock } from '../../../src/shared/time/clock.ts';
import { ContainerLogManager } from '../../../src/workers/images/log-rotation/index.ts';
import { aLogger } from '../logger.ts';
import { startSimulatedRuntime, type TestHooks } from './simulated-runtime.ts';

const limits = { deadlineMs: 10_000 };

export interface LogRotationOptions {
  readonly policy?: Partial<LogRotationPolicy>;
  readonly clock?: Partial<Clock>;
  readonly runtimeRequestTimeoutMs?: number;
  /** Mounts a tmpfs of this size as the folder of pod logs. */
  readonly tmpfsBytes?: number;
}

export async function aLogRotation(t: TestHooks, options: LogRotationOptions = {}) {
  const { control, endpoint } = await startSimulatedRuntime(t);
  const cri = new CriClient({ endpoint });
  const podLogsDir = mkdtempSync(join(tmpdir(), 'log-rotation-'));
  const { tmpfsBytes } = options;
  if (tmpfsBytes !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${tmpfsBytes}`, 'tmpfs', podLogsDir]);
  const { logger, lines } = aLogger();
  /** The images thread reads this from the snapshot of the pleg thread. */
  const items: SnapshotItem[] = [];
  const newManager = () =>
    new ContainerLogManager({
      policy: { maxSizeBytes: 10 * 1024, maxFiles: 5, maxWorkers: 1, monitorIntervalMs: 50, ...options.policy },
      snapshot: { relistedAtMs: 1, all: () => items.values() as Generator<SnapshotItem> },
      runtime: cri.runtime,
      runtimeRequestTimeoutMs: options.runtimeRequestTimeoutMs ?? 2000,
      podLogsDir,
      clock: { ...systemClock, ...options.clock },
      logger,
    });
  let manager = newManager();
  t.after(async () => {
    await manager.close();
    cri.close();
    if (tmpfsBytes !== undefined) execFileSync('umount', [podLogsDir]);
    rmSync(podLogsDir, { recursive: true });
  });

  function track(name: string, containerId: string, podSandboxId: string): void {
    items.push({
      kind: 'container',
      state: 'running',
      attempt: 0,
      createdAtMs: Date.now(),
      id: containerId as ContainerID,
      sandboxID: podSandboxId,
      podUID: name,
      podName: name,
      podNamespace: 'default',
      containerName: name,
    } as SnapshotItem);
  }

  /** Starts a container of another client of the runtime. */
  async function runWithoutLog(): Promise<void> {
    const [pod] = await control.seed({ pods: 1, containersPerPod: 1 });
    track(pod!.name, pod!.containerIDs[0]!, pod!.sandboxID);
  }

  /** Starts a container whose log is `<podLogsDir>/<name>/app/0.log`. Without `every` it writes `lines` lines at its start. */
  async function run(name: string, { every, batch = 1, count = 1 }: { every?: string; batch?: number; count?: number } = {}) {
    const logPath = join(podLogsDir, name, 'app', '0.log');
    mkdirSync(dirname(logPath), { recursive: true });
    const sandboxConfig = {
      metadata: { name, uid: name, namespace: 'default', attempt: 0 },
      logDirectory: join(podLogsDir, name),
    };
    const { podSandboxId } = await cri.runtime.call('runPodSandbox', { config: sandboxConfig }, limits);
    const env = { SIM_LOG_LINES: String(count), SIM_LOG_BATCH: String(batch), ...(every === undefined ? {} : { SIM_LOG_EVERY: every }) };
    const config = {
      metadata: { name, attempt: 0 },
      image: { image: 'sim/run:any' },
      logPath: 'app/0.log',
      envs: Object.entries(env).map(([key, value]) => ({ key, value: Buffer.from(value) })),
    };
    await control.addImage('sim/run:any');
    const { containerId } = await cri.runtime.call('createContainer', { podSandboxId, config, sandboxConfig }, limits);
    await cri.runtime.call('startContainer', { containerId }, limits);
    track(name, containerId, podSandboxId);
    const files = () => (existsSync(dirname(logPath)) ? readdirSync(dirname(logPath)).sort() : []);
    return { id: containerId, logPath, folder: dirname(logPath), files, readLines: () => readLines(logPath) };
  }

  return {
    control,
    endpoint,
    podLogsDir,
    /** The log of the kubelet. */
    lines,
    run,
    runWithoutLog,
    start: () => manager.start(),
    stop: () => manager.close(),
    /** Starts another kubelet's rotation. */
    async restart() {
      await manager.close();
      manager = newManager();
      manager.start();
    },
  };
}

/** Returns the numbers of the lines in all files of the log, oldest first. */
export function readLines(logPath: string): number[] {
  const names = readdirSync(dirname(logPath), { withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.endsWith('.tmp'));
  const rotated = names.map(({ name }) => name).filter((name) => /^0\.log\.\d{8}-\d{6}(\.gz)?$/.test(name));
  return [...rotated.sort(), '0.log'].flatMap((name) => {
    const bytes = readFileSync(join(dirname(logPath), name));
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    return [...text.matchAll(/^\S+ stdout F simulated output (\d+)$/gm)].map(([, number]) => Number(number));
  });
}

/** Asserts that no line is missing or repeated between the first and the last one. */
export function isContiguous(numbers: readonly number[]): boolean {
  return numbers.length > 0 && numbers.every((number, i) => number === numbers[0]! + i);
}
