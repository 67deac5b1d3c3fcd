/**
 * `/checkpoint`: makes the runtime write a container's checkpoint to a file. Upstream: checkpoint of pkg/kubelet/server/server.go,
 * Kubelet.CheckpointContainer.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CriClient } from '../../../shared/cri/client.ts';
import { podFullName } from '../../../shared/kubernetes/ids.ts';
import type { ContainerTarget } from './streaming-interface.ts';

export interface CheckpointOptions {
  readonly cri: Pick<CriClient, 'runtime'>;
  readonly containerID: string;
  readonly location: string;
  /** As requested; 0 when the request has none. */
  readonly timeoutSeconds: number;
  readonly runtimeRequestTimeoutMs: number;
  readonly checkpointsDir: string;
  readonly signal: AbortSignal;
}

/** Uses the last value of the parameter. Null when it is not a number. */
export function parseCheckpointTimeout(query: URLSearchParams): number | null {
  const text = query.getAll('timeout').at(-1);
  if (text === undefined) return 0;
  if (!/^[+-]?\d{1,18}$/.test(text)) return null;
  return Number(text);
}

export function checkpointLocation(dir: string, { namespace, pod, container }: ContainerTarget, nowMs: number): string {
  const name = podFullName({ metadata: { name: pod, namespace } });
  return join(dir, `checkpoint-${name}-${container}-${new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')}.tar`);
}

/** Rejects with the runtime's error, or when the timeout is negative. */
export async function checkpointContainer(checkpoint: CheckpointOptions): Promise<void> {
  const { cri, containerID, location, timeoutSeconds, runtimeRequestTimeoutMs, checkpointsDir, signal } = checkpoint;
  if (timeoutSeconds < 0) throw new Error('CheckpointContainer requires the timeout value to be > 0');
  await mkdir(checkpointsDir, { recursive: true, mode: 0o700 });
  // Never shorter than the timeout of other runtime calls.
  const seconds = Math.max(timeoutSeconds, Math.floor(runtimeRequestTimeoutMs / 1000));
  await cri.runtime.call(
    'checkpointContainer',
    { containerId: containerID, location, timeout: BigInt(seconds) },
    { deadlineMs: seconds * 1000, signal },
  );
}
