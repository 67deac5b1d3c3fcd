/**
 * The pods that the API server has bound to this node (upstream pkg/kubelet/config/apiserver.go). Mirror pods come with them, unchanged:
 * whoever reads tells them apart. They were defaulted and validated by the server; what is looked at here is that each is a pod at all and
 * that its names can't leave the folders that are called after them.
 */
import type { ApiClient } from '../api/api-client.ts';
import { fieldEquals } from '../api/field-selector.ts';
import type { ObjectChange } from '../api/object-store.ts';
import { Reflector, vitalQuietLimitMs } from '../api/reflector.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { PodChanges } from './merge-pods.ts';

export interface ApiSourceOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** Resolves when the Node object was read once: pods are judged by its labels. Never rejects. */
  readonly nodeSynced: Promise<unknown>;
  /** All pods there are; the first time when they are all known. */
  readonly onPods: (pods: readonly Pod[]) => void;
  /** What changed since. */
  readonly onChanges: (changes: PodChanges) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ApiSource {
  readonly #options: ApiSourceOptions;
  readonly #closed = Promise.withResolvers<void>();
  #reflector: Reflector<Pod> | null = null;
  #isClosed = false;
  #running: Promise<void> = Promise.resolve();

  private constructor(options: ApiSourceOptions) {
    this.#options = options;
  }

  static start(options: ApiSourceOptions): ApiSource {
    const source = new ApiSource(options);
    source.#running = source.#run();
    return source;
  }

  /** The server's pods were all known once. */
  hasSynced(): boolean {
    return this.#reflector?.hasSynced() ?? false;
  }

  /** The pod as the server sent it last, mirror pods too: for what is written of it. */
  get(uid: PodUID): Pod | undefined {
    return this.#reflector?.objects.get(uid);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closed.resolve();
    await this.#running;
    await this.#reflector?.close();
  }

  async #run(): Promise<void> {
    const { client, nodeName, nodeSynced, clock, logger } = this.#options;
    logger.info('Waiting for node sync before watching apiserver pods');
    await Promise.race([nodeSynced, this.#closed.promise]);
    if (this.#isClosed) return;
    logger.info({ node: nodeName }, 'Watching apiserver');
    this.#reflector = Reflector.start<Pod>({
      client,
      path: '/api/v1/pods',
      fieldSelector: fieldEquals('spec.nodeName', nodeName),
      trafficClass: 'pods',
      apiVersion: 'v1',
      kind: 'Pod',
      quietLimitMs: vitalQuietLimitMs,
      handler: { onReplace: (pods) => this.#replace(pods), onChange: (changes) => this.#change(changes) },
      clock,
      logger,
    });
  }

  #replace(pods: readonly Pod[]): void {
    this.#options.logger.info({ pods: pods.length }, 'The API server has said which pods there are');
    this.#options.onPods(pods.filter((pod) => this.#isUsable(pod)));
  }

  #change(changes: readonly ObjectChange<Pod>[]): void {
    const last = new Map<PodUID, Pod | null>();
    for (const { type, object } of changes) {
      if (type === 'DELETED') last.set(podUID(object), null);
      else if (this.#isUsable(object)) last.set(podUID(object), object);
    }
    if (last.size > 0) this.#options.onChanges(last);
  }

  #isUsable(pod: Pod): boolean {
    const problem = problemOf(pod);
    if (problem === null) return true;
    const { name, namespace, uid } = pod.metadata;
    this.#options.logger.error({ pod: `${namespace}/${name}`, podUID: uid, err: problem }, 'Pod of the API server ignored');
    return false;
  }
}

/** Objects of a reflector have a name and a UID that are text. */
function problemOf({ metadata, spec }: Pod): string | null {
  for (const key of ['name', 'namespace', 'uid'] as const)
    if (!isFolderName(metadata[key])) return `metadata.${key} is no name: ${JSON.stringify(metadata[key])}`;
  if (!Array.isArray((spec as Pod['spec'] | undefined)?.containers)) return 'spec.containers is no list';
  return null;
}

/** The form that the API server grants to all three; each is a part of paths here. */
function isFolderName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 253 && /^[A-Za-z0-9][-.\w]*$/.test(value);
}
