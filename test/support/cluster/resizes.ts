/**
 * In-place resizes of a test's pods: what is asked for, what the API reports, and what the cgroups have.
 *
 *   const resizes = new Resizes(node);
 *   await resizes.of('web', guaranteed('200m', '64Mi'));
 *   await resizes.until('web', ({ resources }) => resources?.limits?.['cpu'] === '200m');
 *   await resizes.untilEvents('web', 'ResizeStarted', 'ResizeCompleted');
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerStatus, Pod, PodCondition, PodSpec, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { qosClass } from '../../../src/shared/kubernetes/qos-class.ts';
import { aBusybox } from '../kubelet/test-node.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';
import type { TestClusterNode } from './cluster-node.ts';

export const mebibyte = 1024 * 1024;
export const guaranteed = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
/** A pod with one container, `app`. */
export const withResources = (resources: ResourceRequirements, more: Parameters<typeof aBusybox>[0] = {}): Partial<PodSpec> => ({
  containers: [
    aBusybox({
      resources,
      env: [{ name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } }],
      ...more,
    }),
  ],
});

export const condition = ({ status }: Pod, type: string): PodCondition | undefined => status?.conditions?.find((one) => one.type === type);
export const pendingReason = (pod: Pod) => condition(pod, 'PodResizePending')?.reason;
export const hasNoResize = (pod: Pod) => !condition(pod, 'PodResizePending') && !condition(pod, 'PodResizeInProgress');
export const appOf = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.find(({ name }) => name === 'app');

const isV1 = existsSync('/sys/fs/cgroup/memory');
/** Shares, quota and memory limit, as the container sees them; with v2 the weight. */
const values =
  'cat /sys/fs/cgroup/cpu.weight /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.shares /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/memory/memory.limit_in_bytes';
const files = isV1 ? ['cpu/cpu.shares', 'cpu/cpu.cfs_quota_us', 'memory/memory.limit_in_bytes'] : ['cpu.weight', 'cpu.max', 'memory.max'];

export class Resizes {
  readonly #node: TestClusterNode;

  constructor(node: TestClusterNode) {
    this.#node = node;
  }

  /** Asks for other resources of a container. Rejects with what the API server refuses. */
  of(name: string, resources: ResourceRequirements, container = 'app'): Promise<Pod> {
    return this.patch(name, { containers: [{ name: container, resources }] });
  }
  /** @param spec of the pod: `{ resources }` are its own */
  patch(name: string, spec: object): Promise<Pod> {
    const { api, podsPath } = this.#node;
    return api.patch<Pod>(`${podsPath}/${name}/resize`, { spec }, 'strategic-merge');
  }

  /** Waits until no resize is open, and the running container `app` has these resources. */
  until(name: string, isResized: (app: ContainerStatus) => boolean): Promise<Pod> {
    return this.#node.until(name, 'is resized', (pod) => {
      const app = appOf(pod);
      return hasNoResize(pod) && app?.state?.running !== undefined && isResized(app);
    });
  }
  untilDeferred(name: string): Promise<Pod> {
    return this.#node.until(name, 'is deferred', (pod) => pendingReason(pod) === 'Deferred');
  }

  /** The events of resizes, sorted. */
  async events(name: string): Promise<string[]> {
    const events = await this.#node.events(name);
    return events.flatMap(({ reason, count = 1 }) => (reason?.startsWith('Resize') ? Array<string>(count).fill(reason) : [])).toSorted();
  }
  /** Events are written after the status. */
  async untilEvents(name: string, ...reasons: string[]): Promise<void> {
    let last: string[] = [];
    const hasThem = async () => (last = await this.events(name)).join() === reasons.toSorted().join();
    await waitUntil(`${name} has the events ${reasons.join()}`, hasThem).catch((err: unknown) => {
      throw new Error(`${String(err)}; they are ${last.join()}`, { cause: err });
    });
  }

  /** Shares, quota and memory limit of the container. */
  async values(name: string): Promise<string[]> {
    return (await this.#node.exec(name, values))
      .trim()
      .split('\n')
      .map((line) => line.trim());
  }
  /** Those of the pod's cgroup. */
  podValues(pod: Pod): string[] {
    return this.podFiles(pod).map((path) => readFileSync(path, 'utf8').trim());
  }
  /** The files of these values, in this order. */
  podFiles(pod: Pod): string[] {
    const level = { Guaranteed: '', Burstable: 'burstable', BestEffort: 'besteffort' }[qosClass(pod)];
    return files.map((file) => {
      const [controller, name] = isV1 ? (file.split('/') as [string, string]) : ['', file];
      return join('/sys/fs/cgroup', controller, this.#node.node.cgroupRoot, 'kubepods', level, `pod${pod.metadata.uid}`, name);
    });
  }

  /** The values of a metric by their sorted labels, for example `priority_bucket="normal",reason="deferred"`. */
  async metric(name: string): Promise<Readonly<Record<string, number>>> {
    const { api, nodePath } = this.#node;
    const page = await api.text(`${nodePath}/proxy/metrics`);
    const samples = page.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'));
    return Object.fromEntries([...samples].map(([, labels = '', value]) => [labels.split(',').toSorted().join(), Number(value)]));
  }

  /** Milli-CPUs that pods may have on the node. */
  async allocatableMilliCPU(): Promise<number> {
    const { api, nodePath } = this.#node;
    const { status } = await api.get<{ status: { allocatable: { cpu: string } } }>(nodePath);
    return Number(status.allocatable.cpu) * 1000;
  }
}

/** The values of cgroup v1; with v2 the weight is coarser. */
export const cgroupValues = (shares: number, quota: number, memory: number) => [String(shares), String(quota), String(memory)];
