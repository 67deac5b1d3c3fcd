/** Removes a dead container with its logs, or a dead sandbox. An item that the runtime no longer has counts as removed. */
import { SingleFlight } from '../../../shared/concurrency/single-flight.ts';
import type { CriClient } from '../../../shared/cri/client.ts';
import { isCriNotFound } from '../../../shared/cri/cri-error.ts';
import { ContainerState } from '../../../shared/cri/generated/cri-v1.ts';
import {
  containerNameLabel,
  podDeletionGracePeriodAnnotation,
  podNameLabel,
  podNamespaceLabel,
  podTerminationGracePeriodAnnotation,
} from '../../../shared/kubernetes/annotations.ts';
import { containerLogSymlink } from '../../../shared/container-logs/container-log-symlink.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import { removeContainerLogs } from '../../../shared/container-logs/remove-container-logs.ts';

/** A low limit leaves the runtime's capacity to pod syncs. */
export const parallelRemovals = 4;
/** StopContainer waits until the container has stopped. Two minutes is upstream's runtimeRequestTimeout. */
const stopDeadlineMs = 120_000;

/** Upstream's minimumGracePeriodInSeconds. */
const minStopSeconds = 2;
/** Upper limit, because a container that must be stopped delays the removal of others. */
const maxStopSeconds = 30;

/** Returns the pod's grace period, from the annotations of its container (upstream restoreSpecsFromContainerLabels), within the limits above. */
function stopSeconds(annotations: Readonly<Record<string, string>>): number {
  const recorded = annotations[podDeletionGracePeriodAnnotation] ?? annotations[podTerminationGracePeriodAnnotation] ?? '';
  const seconds = /^\d{1,10}$/.test(recorded) ? Number(recorded) : 0;
  return Math.min(Math.max(seconds, minStopSeconds), maxStopSeconds);
}

export interface ContainerRemoverOptions {
  readonly runtime: CriClient['runtime'];
  readonly deadlineMs: number;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
}

export class ContainerRemover {
  readonly #runtime: CriClient['runtime'];
  readonly #deadlineMs: number;
  readonly #podLogsDir: string;
  readonly #containerLogsDir: string;
  /**
   * Shares concurrent removals of a container: runtimes reject the second, and this failure would keep the sandbox until the next
   * collection.
   */
  readonly #removing = new SingleFlight<ContainerID, boolean>();

  constructor({ runtime, deadlineMs, podLogsDir, containerLogsDir }: ContainerRemoverOptions) {
    this.#runtime = runtime;
    this.#deadlineMs = deadlineMs;
    this.#podLogsDir = podLogsDir;
    this.#containerLogsDir = containerLogsDir;
  }

  /**
   * Resolves with false when the container runs; it is not removed. A container in an unknown state may run, so it is stopped first.
   * Rejects with the runtime's error.
   */
  removeContainer(id: ContainerID): Promise<boolean> {
    return this.#removing.run(id, () => this.#remove(id));
  }

  async #remove(containerId: ContainerID): Promise<boolean> {
    const limits = { deadlineMs: this.#deadlineMs };
    try {
      const { status } = await this.#runtime.call('containerStatus', { containerId }, limits);
      if (status?.state === ContainerState.CONTAINER_RUNNING) return false;
      if (status?.state === ContainerState.CONTAINER_UNKNOWN) {
        const timeout = BigInt(stopSeconds(status.annotations));
        await this.#runtime.call('stopContainer', { containerId, timeout }, { deadlineMs: stopDeadlineMs });
      }
      if (status) await this.#removeLogs(containerId, status.labels, status.logPath);
      await this.#runtime.call('removeContainer', { containerId }, limits);
    } catch (err) {
      if (!isCriNotFound(err)) throw err;
    }
    return true;
  }

  /** Stops the sandbox first, because a sandbox that is not ready may still have its network. */
  async removeSandbox(podSandboxId: SandboxID): Promise<void> {
    try {
      await this.#runtime.call('stopPodSandbox', { podSandboxId }, { deadlineMs: stopDeadlineMs });
      await this.#runtime.call('removePodSandbox', { podSandboxId }, { deadlineMs: this.#deadlineMs });
    } catch (err) {
      if (!isCriNotFound(err)) throw err;
    }
  }

  async #removeLogs(containerID: ContainerID, labels: Readonly<Record<string, string>>, logPath: string): Promise<void> {
    const { [podNameLabel]: podName = '', [podNamespaceLabel]: podNamespace = '', [containerNameLabel]: containerName = '' } = labels;
    const link = containerLogSymlink(this.#containerLogsDir, { podName, podNamespace, containerName, containerID });
    await removeContainerLogs(this.#podLogsDir, logPath, link);
  }
}
