/**
 * One look at one pod: its part of the lists where asked for, then the status of each of its sandboxes and containers, and a report
 * to main. What the runtime does not answer about is named in the pod's status; the rest of the pod is as fresh as ever.
 */
import type { PlegNotification } from '../../../shared/contracts/pleg.ts';
import type { CreatedSandbox } from '../../../shared/contracts/pod-sync/result.ts';
import { failureReasons, type RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { isUnavailable } from '../../../shared/cri/cri-error.ts';
import { ContainerState, PodSandboxState, type PodSandboxStatus } from '../../../shared/cri/generated/cri-v1.ts';
import { messageOf, type Failure } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { plegQuarantinedItems } from '../../../shared/metrics/definitions/pleg.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { readContainerAnnotations } from '../runtime-status/container-annotations.ts';
import { unknownExitCode } from '../lifecycle-events.ts';
import type { KnownSince, PendingRequest } from './inspection-queue.ts';
import type { PlegRuntime } from '../pleg-runtime.ts';
import type { ContainerItem, Item, PodRecord, SandboxItem } from '../records/pod-record.ts';
import type { PodRecords } from '../records/pod-records.ts';
import { Quarantine } from './quarantine.ts';
import { report } from './pod-report.ts';
import { terminationMessageSource, type TerminationMessageSource } from '../runtime-status/termination-message.ts';
import { toRuntimeContainerStatus, toRuntimeSandboxStatus } from '../runtime-status/to-runtime-status.ts';

/** Calls of one look at once. Most pods have less to ask. */
const callsAtOnce = 8;
/** Local files, read in less than a millisecond; a pod may have mounted something else there, that hangs. */
const terminationMessageDeadlineMs = 2000;

export interface PodInspectorDependencies {
  readonly runtime: PlegRuntime;
  readonly records: PodRecords;
  readonly post: (message: PlegNotification) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly readMessage: (source: TerminationMessageSource) => Promise<string>;
}

export class PodInspector {
  readonly #deps: PodInspectorDependencies;
  readonly #quarantine = new Quarantine();
  /** What the looks under way still wait for. */
  readonly #asking = new Map<PodUID, Set<Item>>();

  constructor(dependencies: PodInspectorDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Looks, posts what changed, and answers with what it saw; null when the runtime has nothing of the pod. Where it is not known what
   * there is of the pod, it is listed. Rejects when the lists can't be had, or nobody serves.
   */
  async look(uid: PodUID, known: KnownSince | undefined, pending: PendingRequest): Promise<RuntimePodStatus | null> {
    const { runtime, records, clock, signal } = this.#deps;
    const observedAtMs = known && 'listedAtMs' in known ? known.listedAtMs : clock.monotonic();
    let told: Item | undefined;
    try {
      // What was made is all that is new only beside all that there was.
      if (known === undefined || ('made' in known && !records.isWhole)) {
        const { sandboxes, containers } = await runtime.listPod(uid, signal);
        records.applyPodLists(uid, sandboxes, containers, clock.monotonic());
      } else if ('made' in known) {
        records.applyMade(uid, known.made, clock.monotonic());
        told = this.#takeMade(known.made.sandbox);
      }
      const record = records.get(uid);
      if (!record) return null;
      records.setClean(record);
      const failures = await this.#inspect(record, told);
      return this.#report(record, failures, observedAtMs, pending);
    } catch (err) {
      const record = records.get(uid);
      if (record) records.setFailed(record, 0);
      throw err;
    }
  }

  /** Main hears of the pod what the lists said, since its look can wait. */
  tellListed(uid: PodUID, listedAtMs: number): void {
    const record = this.#deps.records.get(uid);
    if (record) this.#post(record, new Map(), listedAtMs);
  }

  /** A look has taken long: main hears what is known so far, and what is not. The look goes on. */
  tellSoFar(uid: PodUID, tookMs: number, pending: PendingRequest): void {
    const record = this.#deps.records.get(uid);
    if (!record) return;
    const asked = this.#asking.get(uid);
    const failures = new Map<string, Failure>();
    for (const item of record.items.values()) {
      const waitsFor = asked ? asked.has(item) : item.state !== item.reported;
      if (waitsFor) failures.set(item.id, toFailure(item, `no answer for ${Math.round(tookMs)} ms`));
    }
    if (failures.size === 0) return;
    // Who could not go on with this waits for the look's end, also where that has nothing else to tell.
    record.reinspect = true;
    this.#post(record, failures, this.#deps.clock.monotonic() - tookMs, pending);
  }

  #report(
    record: PodRecord,
    failures: ReadonlyMap<string, Failure>,
    observedAtMs: number,
    pending: PendingRequest,
  ): RuntimePodStatus | null {
    if (failures.size > 0) {
      this.#deps.records.setFailed(record, Math.min(...Array.from(failures.keys(), (id) => this.#quarantine.retryAtMs(id))));
    }
    const status = this.#post(record, failures, observedAtMs, pending);
    if (!status) this.#deps.records.forget(record);
    return status;
  }

  #post(
    record: PodRecord,
    failures: ReadonlyMap<string, Failure>,
    observedAtMs: number,
    pending?: PendingRequest,
  ): RuntimePodStatus | null {
    const { status, message } = report(record, failures, observedAtMs);
    const sequence = pending?.sequence;
    if (message) this.#deps.post(sequence === undefined ? message : { ...message, inspection: { podUID: record.uid, sequence } });
    for (const event of message?.events ?? []) {
      if (event.type !== 'ContainerDied' || event.exitCode === unknownExitCode) continue;
      const { podUID, containerID, exitCode } = event;
      this.#deps.logger.info({ podUID, containerID, exitCode }, 'container finished');
    }
    return status;
  }

  /** Takes in what the runtime said of a new sandbox to who made it, unless newer news says otherwise. Answers with what need not be asked about. */
  #takeMade(made: CreatedSandbox | undefined): Item | undefined {
    const item = made && this.#deps.records.sandbox(made.id);
    if (!made?.status || !item || item.inspected || item.rawState !== (made.status.state as number)) return undefined;
    this.#setSandbox(item, made.status);
    return item;
  }

  /** Asks about all that may have changed. Answers with what could not be asked, by ID. */
  async #inspect(record: PodRecord, told: Item | undefined): Promise<Map<string, Failure>> {
    const failures = new Map<string, Failure>();
    const queue: Item[] = [];
    for (const item of record.items.values()) {
      if (item.slot < 0) this.#quarantine.release(item.id);
      if (item.slot < 0 || item.final || item === told) continue;
      const held = this.#quarantine.failureOf(item.id, this.#deps.clock.monotonic());
      if (held) failures.set(item.id, held);
      else queue.push(item);
    }
    const waiting = new Set(queue);
    this.#asking.set(record.uid, waiting);
    try {
      await eachAtOnce(queue, callsAtOnce, async (item) => {
        const failure = await this.#ask(item);
        if (failure) failures.set(item.id, failure);
        waiting.delete(item);
      });
    } finally {
      this.#asking.delete(record.uid);
      plegQuarantinedItems.set(this.#quarantine.size);
    }
    return failures;
  }

  /** Undefined: the item is up to date. Rejects when nobody serves, or this thread ends. */
  async #ask(item: Item): Promise<Failure | undefined> {
    const { clock, logger, signal } = this.#deps;
    const startedAtMs = clock.monotonic();
    try {
      await (item.kind === 'sandbox' ? this.#askSandbox(item) : this.#askContainer(item));
      this.#quarantine.release(item.id);
      return undefined;
    } catch (err) {
      if (signal.aborted || isUnavailable(err)) throw err;
      const failure = toFailure(item, messageOf(err));
      const nowMs = clock.monotonic();
      this.#quarantine.hold(item.id, failure, nowMs - startedAtMs, nowMs);
      const retryAfterMs = Math.round(this.#quarantine.retryAtMs(item.id) - nowMs);
      const { uid: podUID, name, namespace } = item.pod;
      logger.warn(
        { pod: `${namespace}/${name}`, podUID, id: item.id, err, retryAfterMs },
        `the runtime did not answer about a ${item.kind}`,
      );
      return failure;
    }
  }

  async #askSandbox(item: SandboxItem): Promise<void> {
    const { runtime, records, clock, signal } = this.#deps;
    const status = await runtime.sandboxStatus(item.id, signal);
    if (status) this.#setSandbox(item, status);
    else records.setGone(item, clock.monotonic());
  }

  #setSandbox(item: SandboxItem, status: PodSandboxStatus): void {
    const { records, clock } = this.#deps;
    records.setState(item, status.state, clock.monotonic());
    item.status = toRuntimeSandboxStatus({ ...status, id: item.id });
    records.setInspected(item);
    item.final = status.state === PodSandboxState.SANDBOX_NOTREADY;
  }

  async #askContainer(item: ContainerItem): Promise<void> {
    const { runtime, records, clock, signal, logger } = this.#deps;
    const status = await runtime.containerStatus(item.id, signal);
    if (!status) return records.setGone(item, clock.monotonic());
    if (!item.inspected) {
      for (const problem of readContainerAnnotations(status.annotations).problems) {
        logger.error({ podUID: item.pod.uid, containerID: item.id, problem }, 'a container has a broken annotation; its default holds');
      }
    }
    const message = await this.#terminationMessage(terminationMessageSource(status));
    records.setState(item, status.state, clock.monotonic());
    item.status = toRuntimeContainerStatus({ ...status, id: item.id }, item.status.sandboxID, message);
    records.setInspected(item);
    item.final = status.state === ContainerState.CONTAINER_EXITED;
  }

  async #terminationMessage(source: TerminationMessageSource): Promise<string> {
    if (source.file === undefined && source.log === undefined) return '';
    const { clock, readMessage } = this.#deps;
    const { promise: late, resolve } = Promise.withResolvers<string>();
    const cancel = clock.after(terminationMessageDeadlineMs, () =>
      resolve(`Error on reading termination log ${source.file ?? source.log}: no answer for ${terminationMessageDeadlineMs} ms`),
    );
    const message = await Promise.race([readMessage(source), late]);
    cancel();
    return message;
  }
}

function toFailure(item: Item, why: string): Failure {
  const what = item.kind === 'sandbox' ? `sandbox ${item.id}` : `container ${item.status.name} (${item.id})`;
  return { reason: failureReasons[item.kind], message: `status of ${what}: ${why}` };
}

/** Runs `act` for each, so many at once. Rejects with the first failure, having begun no more after it. */
async function eachAtOnce<T>(items: readonly T[], atOnce: number, act: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}
