/**
 * Watches the pods that are bound to this node at the API server (upstream pkg/kubelet/config/apiserver.go), mirror pods included. The
 * server has defaulted and validated them. This source checks the types of the fields (shared/kubernetes/schema), and that the names are
 * safe as path elements. An invalid pod is ignored and its known version stays; upstream cannot decode the whole list then, and has no
 * pod.
 */
import {
  criticalWatchIdleTimeoutMs,
  fieldEquals,
  Reflector,
  type ApiClient,
  type ObjectChange,
  type ObjectStore,
  type UnreadObject,
} from '../api/index.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { conform } from '../../shared/kubernetes/schema/conform.ts';
import { pod as podSchema } from '../../shared/kubernetes/schema/pod.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { containedFaults } from '../../shared/metrics/definitions/faults.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { GonePod, PodChange, SourceChanges } from './merge-pods.ts';

export interface ApiSourceOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** The source fills this store with the pods as the server sent them last, mirror pods too. */
  readonly store: ObjectStore<Pod>;
  /** Resolves when the Node object is known: admission compares pods with its labels. Never rejects. */
  readonly nodeSynced: Promise<unknown>;
  /** Called with all pods, after each list. */
  readonly onPods: (pods: readonly Pod[]) => void;
  /** Called with the changes after the list. */
  readonly onChanges: (changes: SourceChanges) => void;
  readonly onEvent: (event: RecordedEvent) => void;
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

  /** Whether all pods of the server were listed once. */
  hasSynced(): boolean {
    return this.#reflector?.hasSynced() ?? false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closed.resolve();
    await this.#running;
    await this.#reflector?.close();
  }

  async #run(): Promise<void> {
    const { client, store, nodeName, nodeSynced, clock, logger } = this.#options;
    logger.info('Waiting for node sync before watching apiserver pods');
    await Promise.race([nodeSynced, this.#closed.promise]);
    if (this.#isClosed) return;
    logger.info({ node: nodeName }, 'Watching apiserver');
    this.#reflector = Reflector.start<Pod>({
      client,
      store,
      path: '/api/v1/pods',
      fieldSelector: fieldEquals('spec.nodeName', nodeName),
      trafficClass: 'pods',
      apiVersion: 'v1',
      kind: 'Pod',
      idleTimeoutMs: criticalWatchIdleTimeoutMs,
      accept: (pod) => this.#accept(pod),
      onUnread: (pod, problem) => this.#ignore(pod, problem),
      handler: { onReplace: (pods) => this.#replace(pods), onChange: (changes) => this.#change(changes) },
      clock,
      logger,
    });
  }

  #replace(pods: readonly Pod[]): void {
    this.#options.logger.info({ pods: pods.length }, 'Listed apiserver pods');
    this.#options.onPods(pods);
  }

  #change(changes: readonly ObjectChange<Pod>[]): void {
    const lastChanges = new Map<PodUID, PodChange>();
    for (const { type, object } of changes) lastChanges.set(podUID(object), type === 'DELETED' ? toGonePod(object) : object);
    if (lastChanges.size > 0) this.#options.onChanges(lastChanges);
  }

  #accept(pod: Pod): Pod | null {
    const { value, problem } = conform(podSchema, pod);
    const fault = problem ?? nameProblem(value as Pod);
    if (fault === null) return value as Pod;
    this.#ignore(pod, fault);
    return null;
  }

  #ignore({ metadata: { name, namespace = '', uid } }: UnreadObject, problem: string): void {
    const { logger, onEvent } = this.#options;
    containedFaults.inc({ handler: 'api source' });
    logger.error({ pod: `${namespace}/${name}`, podUID: uid, err: problem }, 'Pod of the API server ignored');
    if (![name, namespace, uid].every(isPathElement)) return;
    const message = `Error validating pod ${name}_${namespace}(${uid}) from api: ${problem}, ignoring`;
    onEvent({ object: { kind: 'Pod', name, namespace, uid }, type: 'Warning', reason: 'FailedValidation', message });
  }
}

function toGonePod({ metadata: { deletionGracePeriodSeconds } }: Pod): GonePod | null {
  // The reflector does not validate the last version of a deleted object.
  return typeof deletionGracePeriodSeconds === 'number' ? { gone: true, deletionGracePeriodSeconds } : null;
}

function nameProblem({ metadata, spec }: Pod): string | null {
  for (const key of ['name', 'namespace', 'uid'] as const)
    if (!isPathElement(metadata[key])) return `metadata.${key} is no name: ${JSON.stringify(metadata[key])}`;
  if (spec.containers.length === 0) return 'spec.containers is empty';
  return null;
}

/** The API server grants this form to name, namespace and UID. All three become elements of paths. */
function isPathElement(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 253 && /^[A-Za-z0-9][-.\w]*$/.test(value);
}
