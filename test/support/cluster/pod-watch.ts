/**
 * Watches the pods of one namespace, and waits for conditions on them. Conditions are checked at each watch event, without polling.
 *
 *   const pods = await PodWatch.start(t, cluster, namespace);
 *   await pods.create(aManifest('web', { nodeName }));
 *   await pods.until('web', 'runs', isRunning);
 *   await pods.untilGone('web');
 *   pods.seen('web')                              // every observed version, oldest first
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { TestCluster } from './control-plane.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

interface PodList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly Pod[];
}

const defaultTimeoutMs = 60_000;

export const isRunning = ({ status }: Pod) => status?.phase === 'Running' && (status.containerStatuses ?? []).every(({ ready }) => ready);

export class PodWatch {
  readonly #cluster: TestCluster;
  readonly #path: string;
  readonly #pods = new Map<string, Pod>();
  readonly #seen: Pod[] = [];
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();

  private constructor(cluster: TestCluster, namespace: string) {
    this.#cluster = cluster;
    this.#path = `/api/v1/namespaces/${namespace}/pods`;
  }

  static async start(t: TestHooks, cluster: TestCluster, namespace: string): Promise<PodWatch> {
    const watch = new PodWatch(cluster, namespace);
    let version: string | undefined = await watch.#list();
    const running = (async () => {
      while (!watch.#stop.signal.aborted) {
        try {
          version ??= await watch.#list();
          await watch.#follow(version);
        } catch {
          // The API server may be stopped or replaced: list again.
          await sleep(200, undefined, { signal: watch.#stop.signal }).catch(() => {});
        }
        version = undefined;
      }
    })();
    t.after(async () => {
      watch.#stop.abort();
      await running;
    });
    return watch;
  }

  create(manifest: object): Promise<Pod> {
    return this.#cluster.api.create<Pod>(this.#path, manifest);
  }
  /** Like `kubectl delete --wait=false`. */
  async delete(name: string, options?: { readonly gracePeriodSeconds: number }): Promise<void> {
    await this.#cluster.api.delete(`${this.#path}/${name}`, options);
  }

  all(): readonly Pod[] {
    return [...this.#pods.values()];
  }
  get(name: string): Pod | undefined {
    return this.#pods.get(name);
  }
  /** Every observed version of every pod, oldest first. */
  allSeen(): readonly Pod[] {
    return this.#seen;
  }
  seen(name: string): readonly Pod[] {
    return this.#seen.filter(({ metadata }) => metadata.name === name);
  }

  async until(name: string, what: string, condition: (pod: Pod) => boolean, timeoutMs = defaultTimeoutMs): Promise<Pod> {
    const find = () => {
      const pod = this.#pods.get(name);
      return pod && condition(pod) ? pod : null;
    };
    return this.#wait(`pod ${name} ${what}`, find, () => this.#pods.get(name)?.status, timeoutMs);
  }
  async untilAll(what: string, condition: (pods: readonly Pod[]) => boolean, timeoutMs = defaultTimeoutMs): Promise<readonly Pod[]> {
    const find = () => (condition(this.all()) ? this.all() : null);
    const summary = () => this.all().map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${metadata.deletionTimestamp ?? ''}`);
    return this.#wait(what, find, summary, timeoutMs);
  }
  async untilGone(name: string, timeoutMs = defaultTimeoutMs): Promise<void> {
    await this.#wait(
      `pod ${name} is gone`,
      () => !this.#pods.has(name) || null,
      () => this.#pods.get(name),
      timeoutMs,
    );
  }

  #wait<T>(what: string, find: () => T | null, describeLast: () => unknown, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (resolveOrReject: () => void) => {
        this.#listeners.delete(onChange);
        clearTimeout(timer);
        resolveOrReject();
      };
      const onChange = () => {
        const found = find();
        if (found !== null) settle(() => resolve(found));
      };
      const timer = setTimeout(
        () =>
          settle(() =>
            reject(
              new Error(`timed out after ${timeoutMs} ms waiting until ${what}; the last state was ${JSON.stringify(describeLast())}`),
            ),
          ),
        timeoutMs,
      );
      this.#listeners.add(onChange);
      onChange();
    });
  }

  async #list(): Promise<string> {
    const { items, metadata } = await this.#cluster.api.get<PodList>(this.#path);
    this.#pods.clear();
    for (const pod of items) this.#set(pod);
    this.#notify();
    return metadata.resourceVersion;
  }

  async #follow(version: string): Promise<void> {
    for await (const { type, object } of this.#cluster.api.watch<Pod>(`${this.#path}?resourceVersion=${version}`, this.#stop.signal)) {
      if (type === 'ERROR') return;
      if (type === 'DELETED') this.#pods.delete(object.metadata.name);
      else this.#set(object);
      this.#notify();
    }
  }

  #set(pod: Pod): void {
    this.#pods.set(pod.metadata.name, pod);
    this.#seen.push(pod);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
