/**
 * Inspects one pod: lists it when necessary, requests the status of each changed sandbox and container, and posts a report to main. An
 * item without a reply becomes a failure in the pod's status; the rest of the pod is up to date.
 */
import type { PlegNotification } from '../../../shared/contracts/pleg.ts';
import type { CreatedSandbox } from '../../../shared/contracts/pod-sync/result.ts';
import { failureReasons, type RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { forEachParallel } from '../../../shared/concurrency/for-each-parallel.ts';
import { isUnavailable } from '../../../shared/cri/cri-error.ts';
import { ContainerState, PodSandboxState, type PodSandboxStatus } from '../../../shared/cri/generated/cri-v1.ts';
import { messageOf, type Failure } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { plegQuarantinedItems } from '../../../shared/metrics/definitions/pleg.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { readContainerAnnotations } from '../runtime-status/container-annotations.ts';
import { unknownExitCode } from '../lifecycle-events.ts';
import type { KnownObjects } from './inspection-queue.ts';
import type { PlegRuntime } from '../pleg-runtime.ts';
import type { ContainerItem, Item, PodRecord, SandboxItem } from '../records/pod-record.ts';
import type { PodRecords } from '../records/pod-records.ts';
import { computeNextReadMs } from './exit-report.ts';
import { Quarantine } from './quarantine.ts';
import { SandboxImages } from './sandbox-images.ts';
import { reportPod } from './pod-report.ts';
import { terminationMessageSource, type TerminationMessageSource } from '../runtime-status/termination-message.ts';
import { toRuntimeContainerStatus, toRuntimeSandboxStatus } from '../runtime-status/to-runtime-status.ts';

/** Parallel calls per inspection. Most pods need fewer calls. */
const maxParallelCalls = 8;
/** Reading a local file takes less than a millisecond, but a pod may have mounted a hanging file system there. */
const terminationMessageDeadlineMs = 2000;

export interface PodInspectorDependencies {
  readonly runtime: PlegRuntime;
  readonly records: PodRecords;
  readonly post: (message: PlegNotification) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly readMessage: (source: TerminationMessageSource) => Promise<string>;
  /** Requests another inspection of the pod. */
  readonly inspectLater: (uid: PodUID, delayMs: number) => void;
}

export class PodInspector {
  readonly #deps: PodInspectorDependencies;
  readonly #quarantine = new Quarantine();
  readonly #images: SandboxImages;
  /** The items whose replies the running inspections still await. */
  readonly #pendingItems = new Map<PodUID, Set<Item>>();

  constructor(dependencies: PodInspectorDependencies) {
    this.#deps = dependencies;
    this.#images = new SandboxImages({ ...dependencies, publish: (item) => dependencies.records.setImage(item) });
  }

  /**
   * Inspects the pod and posts its changes; for main, the result also without a change. Lists the pod unless `known` covers its objects.
   * Rejects when the lists fail or the runtime is unavailable.
   */
  async inspect(uid: PodUID, known: KnownObjects | undefined, observedAtMs: number, forMain: boolean): Promise<void> {
    const { runtime, records, post, clock, signal } = this.#deps;
    let upToDate: Item | undefined;
    try {
      // Created objects are complete only in addition to a relist.
      if (known === undefined || ('created' in known && !records.hasRelisted)) {
        const { sandboxes, containers } = await runtime.listPod(uid, signal);
        records.applyPodLists(uid, sandboxes, containers, clock.monotonic());
      } else if ('created' in known) {
        records.applyCreated(uid, known.created, clock.monotonic());
        upToDate = this.#applyCreatedSandbox(known.created.sandbox);
      }
      const record = records.get(uid);
      if (!record) {
        if (forMain) post(unchangedResult(uid, null));
        return;
      }
      records.markInspected(record);
      const failures = await this.#refreshItems(record, upToDate);
      this.#report(record, failures, observedAtMs, forMain);
    } catch (err) {
      const record = records.get(uid);
      if (record) records.markFailed(record, 0);
      throw err;
    }
  }

  /** Posts a pod's status from the lists, because its inspection can wait, or has failed. */
  postListedStatus(uid: PodUID, listedAtMs: number): void {
    const record = this.#deps.records.get(uid);
    if (!record) return;
    const { reinspect } = record;
    record.reinspect = false;
    this.#post(record, new Map(), listedAtMs);
    // The inspection that succeeds posts a PodSync, also without changes.
    record.reinspect = reinspect;
  }

  /**
   * Called when an inspection is slow. Posts the statuses known so far, with a failure for each item without a reply. The inspection
   * continues.
   */
  postPartialStatus(uid: PodUID, tookMs: number, observedAtMs: number): void {
    const record = this.#deps.records.get(uid);
    if (!record) return;
    const pendingItems = this.#pendingItems.get(uid);
    const failures = new Map<string, Failure>();
    for (const item of record.items.values()) {
      const isPending = pendingItems ? pendingItems.has(item) : item.state !== item.reported;
      if (isPending) failures.set(item.id, toFailure(item, `no answer for ${Math.round(tookMs)} ms`));
    }
    if (failures.size === 0) return;
    // Makes the inspection post a PodSync at its end even without changes, for a sync that could not proceed with the partial status.
    record.reinspect = true;
    this.#post(record, failures, observedAtMs);
  }

  #report(record: PodRecord, failures: ReadonlyMap<string, Failure>, observedAtMs: number, forMain: boolean): void {
    if (failures.size > 0) {
      this.#deps.records.markFailed(record, Math.min(...Array.from(failures.keys(), (id) => this.#quarantine.retryAtMs(id))));
    }
    const status = this.#post(record, failures, observedAtMs, forMain);
    if (!status) this.#deps.records.forget(record);
  }

  #post(record: PodRecord, failures: ReadonlyMap<string, Failure>, observedAtMs: number, forMain = false): RuntimePodStatus | null {
    const { status, message } = reportPod(record, failures, observedAtMs);
    if (message) this.#deps.post(message);
    else if (forMain) this.#deps.post(unchangedResult(record.uid, status));
    for (const event of message?.events ?? []) {
      if (event.type !== 'ContainerDied' || event.exitCode === unknownExitCode) continue;
      const { podUID, containerID, exitCode } = event;
      this.#deps.logger.info({ podUID, containerID, exitCode }, 'container finished');
    }
    return status;
  }

  /** Applies the status that the creating task received, unless a newer reply differs. Returns the sandbox when it needs no status call. */
  #applyCreatedSandbox(created: CreatedSandbox | undefined): Item | undefined {
    const item = created && this.#deps.records.sandbox(created.id);
    if (!created?.status || !item || item.inspected || item.rawState !== (created.status.state as number)) return undefined;
    this.#setSandbox(item, created.status);
    return item;
  }

  /** Requests the status of each item that may have changed. Resolves with the failures by item ID. */
  async #refreshItems(record: PodRecord, upToDate: Item | undefined): Promise<Map<string, Failure>> {
    const failures = new Map<string, Failure>();
    const queue: Item[] = [];
    for (const item of record.items.values()) {
      if (item.slot < 0) this.#quarantine.release(item.id);
      if (item.slot < 0 || item.final || item === upToDate) continue;
      const quarantined = this.#quarantine.failureOf(item.id, this.#deps.clock.monotonic());
      if (quarantined) failures.set(item.id, quarantined);
      else queue.push(item);
    }
    const pendingItems = new Set(queue);
    this.#pendingItems.set(record.uid, pendingItems);
    try {
      await forEachParallel(queue, maxParallelCalls, async (item) => {
        const failure = await this.#refreshItem(item);
        if (failure) failures.set(item.id, failure);
        pendingItems.delete(item);
      });
    } finally {
      this.#pendingItems.delete(record.uid);
      plegQuarantinedItems.set(this.#quarantine.size);
    }
    return failures;
  }

  /** Resolves with undefined when the item is up to date. Rejects when the runtime is unavailable or the thread closes. */
  async #refreshItem(item: Item): Promise<Failure | undefined> {
    const { clock, logger, signal } = this.#deps;
    const startedAtMs = clock.monotonic();
    try {
      await (item.kind === 'sandbox' ? this.#refreshSandbox(item) : this.#refreshContainer(item));
      this.#quarantine.release(item.id);
      return undefined;
    } catch (err) {
      if (signal.aborted || isUnavailable(err)) throw err;
      const failure = toFailure(item, messageOf(err));
      const nowMs = clock.monotonic();
      this.#quarantine.add(item.id, failure, nowMs - startedAtMs, nowMs);
      const retryAfterMs = Math.round(this.#quarantine.retryAtMs(item.id) - nowMs);
      const { uid: podUID, name, namespace } = item.pod;
      logger.warn(
        { pod: `${namespace}/${name}`, podUID, id: item.id, err, retryAfterMs },
        item.kind === 'sandbox' ? 'PodSandboxStatus from runtime service failed' : 'ContainerStatus from runtime service failed',
      );
      return failure;
    }
  }

  async #refreshSandbox(item: SandboxItem): Promise<void> {
    const { runtime, records, clock, signal } = this.#deps;
    const status = await runtime.sandboxStatus(item.id, signal);
    if (status) this.#setSandbox(item, status);
    else records.setRemoved(item, clock.monotonic());
  }

  #setSandbox(item: SandboxItem, status: PodSandboxStatus): void {
    const { records, clock } = this.#deps;
    records.setState(item, status.state, clock.monotonic());
    item.status = toRuntimeSandboxStatus({ ...status, id: item.id });
    records.setInspected(item);
    item.final = status.state === PodSandboxState.SANDBOX_NOTREADY;
    if (!item.final) this.#images.request(item);
  }

  async #refreshContainer(item: ContainerItem): Promise<void> {
    const { runtime, records, clock, signal, logger } = this.#deps;
    const status = await runtime.containerStatus(item.id, signal);
    if (!status) return records.setRemoved(item, clock.monotonic());
    if (!item.inspected) {
      for (const problem of readContainerAnnotations(status.annotations).problems) {
        logger.error({ podUID: item.pod.uid, containerID: item.id, problem }, 'Invalid container annotation, using its default');
      }
    }
    const message = await this.#terminationMessage(terminationMessageSource(status));
    records.setState(item, status.state, clock.monotonic());
    item.status = toRuntimeContainerStatus({ ...status, id: item.id }, item.status.sandboxID, message);
    records.setInspected(item);
    if (status.state === ContainerState.CONTAINER_EXITED) this.#finishExit(item);
  }

  /** Marks the status as final, or requests another read of it. */
  #finishExit(item: ContainerItem): void {
    const { clock, inspectLater } = this.#deps;
    const nowMs = clock.monotonic();
    item.exitSeenAtMs ??= nowMs;
    const nextReadMs = computeNextReadMs(item.status, nowMs - item.exitSeenAtMs);
    item.final = nextReadMs === 0;
    const isRequested = nowMs < (item.nextReadAtMs ?? 0);
    if (item.final || isRequested) return;
    item.nextReadAtMs = nowMs + nextReadMs;
    inspectLater(item.pod.uid, nextReadMs);
  }

  async #terminationMessage(source: TerminationMessageSource): Promise<string> {
    if (source.file === undefined && source.log === undefined) return '';
    const { clock, readMessage } = this.#deps;
    const { promise: timeout, resolve } = Promise.withResolvers<string>();
    const cancel = clock.after(terminationMessageDeadlineMs, () =>
      resolve(`Error on reading termination log ${source.file ?? source.log}: no answer for ${terminationMessageDeadlineMs} ms`),
    );
    const message = await Promise.race([readMessage(source), timeout]);
    cancel();
    return message;
  }
}

/** `status` is null when the runtime has nothing of the pod. Main may still have a status that this thread's predecessor posted. */
function unchangedResult(uid: PodUID, status: RuntimePodStatus | null): PlegNotification {
  return { statuses: status ? [status] : [], removed: status ? [] : [uid], events: [], unchanged: true };
}

function toFailure(item: Item, cause: string): Failure {
  const subject = item.kind === 'sandbox' ? `sandbox ${item.id}` : `container ${item.status.name} (${item.id})`;
  return { reason: failureReasons[item.kind], message: `status of ${subject}: ${cause}` };
}
