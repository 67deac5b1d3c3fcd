/** Pods of a cluster whose CPU is resized, with the moments at which a watch sees their versions. All times are monotonic ms. */
import type { ContainerStatus, Pod } from '../../src/shared/kubernetes/api.ts';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import { ApiWatch } from './api-watch.ts';
import { namespace, nodeName, type BenchCluster } from './cluster.ts';
import { benchPodSpec } from './containerd.ts';

const podsPath = `/api/v1/namespaces/${namespace}/pods`;
const timeoutMs = 60_000;
const burstTimeoutMs = 180_000;

export class ResizedPods {
  readonly #cluster: BenchCluster;
  readonly #newest = new Map<string, Pod>();
  /** The versions since `forgetTimes`. */
  #seen: { readonly pod: Pod; readonly atMs: number }[] = [];
  #watch: ApiWatch<Pod> | undefined;

  private constructor(cluster: BenchCluster) {
    this.#cluster = cluster;
  }

  static async watch(cluster: BenchCluster): Promise<ResizedPods> {
    const pods = new ResizedPods(cluster);
    pods.#watch = await ApiWatch.start<Pod>(cluster.api, podsPath, ({ object }, atMs) => {
      pods.#newest.set(object.metadata.name, object);
      pods.#seen.push({ pod: object, atMs });
    });
    return pods;
  }

  async close(): Promise<void> {
    await this.#watch?.close();
  }

  create(name: string, cpu: string): Promise<unknown> {
    const [container] = benchPodSpec.containers;
    const containers = [{ ...container, resources: cpuOf(cpu) }];
    return this.#cluster.api.create(podsPath, { metadata: { name }, spec: { ...benchPodSpec, nodeName, containers } });
  }

  async untilRunning(...names: readonly string[]): Promise<void> {
    const run = () => names.every((name) => this.#newest.get(name)?.status?.phase === 'Running');
    await this.#watch!.waitUntil(`${names.length} pods run`, burstTimeoutMs, run);
  }

  async request(name: string, cpu: string): Promise<void> {
    const patch = { spec: { containers: [{ name: 'app', resources: cpuOf(cpu) }] } };
    await this.#cluster.api.patch(`${podsPath}/${name}/resize`, patch, 'strategic-merge');
  }

  /** Returns when the request began, and when a watch saw the changed pod. Forgets earlier times. */
  async resize(name: string, cpu: string): Promise<{ readonly beganMs: number; readonly seenMs: number }> {
    this.forgetTimes();
    const beganMs = monotonicMs();
    await this.request(name, cpu);
    const seenMs = await this.untilSeen(`${name} asks for ${cpu}`, name, (pod) => wantedCPU(pod) === cpu);
    return { beganMs, seenMs };
  }

  untilDone(name: string, cpu: string): Promise<number> {
    return this.untilSeen(`${name} is resized to ${cpu}`, name, (pod) => isResized(pod, cpu));
  }

  async untilAllDone(names: readonly string[], cpu: string): Promise<void> {
    const areDone = () => names.every((name) => isResized(this.#newest.get(name)!, cpu));
    await this.#watch!.waitUntil('all pods are resized', burstTimeoutMs, areDone);
  }

  untilPending(name: string): Promise<number> {
    const isPending = ({ status }: Pod) => status?.conditions?.some(({ type }) => type === 'PodResizePending') === true;
    return this.untilSeen(`${name} is deferred`, name, isPending);
  }

  /** Returns when a watch saw the first such version of the pod since `forgetTimes`. */
  async untilSeen(what: string, name: string, condition: (pod: Pod) => boolean): Promise<number> {
    await this.#watch!.waitUntil(what, timeoutMs, () => this.timeOf(name, condition) !== undefined);
    return this.timeOf(name, condition)!;
  }

  timeOf(name: string, condition: (pod: Pod) => boolean): number | undefined {
    return this.#seen.find(({ pod }) => pod.metadata.name === name && condition(pod))?.atMs;
  }

  /** When a watch saw the allocation of this much CPU. */
  allocatedAt(name: string, cpu: string): number {
    return this.timeOf(name, ({ status }) => status?.containerStatuses?.[0]?.allocatedResources?.['cpu'] === cpu)!;
  }

  forgetTimes(): void {
    this.#seen = [];
  }

  /** Pods that do not exist are ignored. */
  async remove(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#cluster.deletePod(name, { gracePeriodSeconds: 0 }).catch(() => {})));
  }
}

const cpuOf = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });

function wantedCPU({ spec }: Pod): string | undefined {
  return spec.containers[0]?.resources?.limits?.['cpu'];
}

function isResized({ status }: Pod, cpu: string): boolean {
  const isPending = status?.conditions?.some(({ type }) => type.startsWith('PodResize'));
  const [app]: readonly ContainerStatus[] = status?.containerStatuses ?? [];
  return !isPending && app?.resources?.limits?.['cpu'] === cpu && app.allocatedResources?.['cpu'] === cpu;
}
