/**
 * What the runtime has, as this thread knows it: pods, their sandboxes and containers, and of each what was last reported to main.
 * Lists and looks bring news. A list that began before an item's newest news arrived says nothing about that item: it may have been
 * made up before.
 */
import type { CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import { Container, ContainerState, PodSandbox } from '../../../shared/cri/generated/cri-v1.ts';
import { containerList, sandboxList } from '../../../shared/cri/list-scanner.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { podNameLabel, podNamespaceLabel, podUIDLabel } from '../../../shared/kubernetes/annotations.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import type { RuntimeSnapshotWriter } from '../../../shared/state/runtime-snapshot.ts';
import { KnownItems, type OnLeftOut } from './known-items.ts';
import type { ListDifference } from './list-difference.ts';
import { plegStateOf, unplaced, type ContainerItem, type Item, type PodRecord, type SandboxItem } from './pod-record.ts';
import { toListedContainerStatus, toListedSandboxStatus } from '../runtime-status/to-runtime-status.ts';

interface PodName {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/**
 * How long a start may wait to be looked at by itself: a sync that makes a sandbox and its containers takes less, also in a burst of pods on a
 * busy node, and asks for a look of its own when it is done. An end is looked at at once.
 */
export const startPatienceMs = 10_000;

export class PodRecords {
  readonly #pods = new Map<PodUID, PodRecord>();
  readonly #sandboxes: KnownItems<SandboxItem>;
  readonly #containers: KnownItems<ContainerItem>;
  readonly #snapshot: RuntimeSnapshotWriter;
  readonly #onLeftOut: OnLeftOut;
  /** Pods with news that no look has followed yet, or whose last look failed. */
  readonly #dirty = new Set<PodRecord>();
  #relists = 0;
  #version = 0;

  constructor(snapshot: RuntimeSnapshotWriter, onLeftOut: OnLeftOut) {
    this.#snapshot = snapshot;
    this.#onLeftOut = onLeftOut;
    this.#sandboxes = new KnownItems({ layout: sandboxList, snapshot, onLeftOut });
    this.#containers = new KnownItems({ layout: containerList, snapshot, onLeftOut });
  }

  get(uid: PodUID): PodRecord | undefined {
    return this.#pods.get(uid);
  }

  all(): IterableIterator<PodRecord> {
    return this.#pods.values();
  }

  /** Those that want a look. */
  dirty(): Iterable<PodRecord> {
    return this.#dirty;
  }

  /** A look begins that will see all that is known so far. */
  setClean(record: PodRecord): void {
    this.#dirty.delete(record);
  }

  /** A look failed: another is due at `retryAtMs`. */
  setFailed(record: PodRecord, retryAtMs: number): void {
    record.retryAtMs = retryAtMs;
    record.reinspect = true;
    if (this.#pods.has(record.uid)) this.#dirty.add(record);
  }

  /** Something happened to that sandbox or container: what is known of it is not final any more. Answers whose it is. */
  doubt(id: string): PodRecord | undefined {
    const item = this.#containers.get(id) ?? this.#sandboxes.get(id);
    if (item) item.final = false;
    return item?.pod;
  }

  /** No list but the first has been taken in. */
  get isFirstList(): boolean {
    return this.#relists === 1;
  }

  /** A whole list was taken in: a pod that is not here is not there. */
  get isWhole(): boolean {
    return this.#relists > 0;
  }

  /** Grows with every item that came, went or changed its state. */
  get version(): number {
    return this.#version;
  }

  /** Items that are known, with and without a place in the snapshot; and those without. */
  counts(): { readonly sandboxes: number; readonly containers: number; readonly outsideSnapshot: number } {
    const [sandboxes, containers] = [this.#sandboxes.size, this.#containers.size];
    return { sandboxes, containers, outsideSnapshot: sandboxes + containers - this.#snapshot.size };
  }

  /** Containers in each state, by the protocol's number; what it does not know counts as the last, unknown. */
  containersByState(): readonly number[] {
    const counts = [0, 0, 0, 0];
    this.#containers.countRawStates(counts);
    return counts;
  }

  /** Pods with a sandbox that is ready. */
  runningPods(): number {
    let running = 0;
    for (const { items } of this.#pods.values()) {
      if (items.values().some((item) => item.kind === 'sandbox' && item.state === 'running')) running += 1;
    }
    return running;
  }

  /**
   * Takes in both lists, whole, and marks the pods of which they say something new as dirty. Answers whether there was any. Throws
   * ListScanError for bytes that are no list; then nothing was taken in.
   */
  applyLists(sandboxes: readonly Uint8Array[], containers: readonly Uint8Array[], beganAtMs: number, nowMs: number): boolean {
    this.#relists += 1;
    const sandboxDifference = this.#sandboxes.compare(sandboxes, this.#relists);
    const containerDifference = this.#containers.compare(containers, this.#relists);
    const addSandbox = (bytes: Uint8Array) => this.#addSandbox(PodSandbox.decode(bytes), nowMs);
    const changed = this.#applyList(this.#sandboxes, sandboxDifference, addSandbox, beganAtMs, nowMs);
    const addContainer = (bytes: Uint8Array) => this.#addContainer(Container.decode(bytes), nowMs);
    const containersChanged = this.#applyList(this.#containers, containerDifference, addContainer, beganAtMs, nowMs);
    this.#sandboxes.release();
    this.#containers.release();
    return changed || containersChanged;
  }

  /**
   * Takes in one pod's part of the lists, for a look: what is new in it. What is missing in it may have been made since, or carry no
   * label: the look asks about it, also where its status was final.
   */
  applyPodLists(uid: PodUID, sandboxes: readonly PodSandbox[], containers: readonly Container[], nowMs: number): void {
    for (const sandbox of sandboxes) {
      if (!this.#isKnown(this.#sandboxes.get(sandbox.id), sandbox.metadata?.uid, nowMs)) this.#show(this.#addSandbox(sandbox, nowMs));
    }
    for (const container of containers) {
      const isKnown = this.#isKnown(this.#containers.get(container.id), container.labels[podUIDLabel], nowMs);
      if (!isKnown) this.#show(this.#addContainer(container, nowMs));
    }
    const listed = new Set<string>([...sandboxes, ...containers].map(({ id }) => id));
    for (const item of this.#pods.get(uid)?.items.values() ?? []) if (!listed.has(item.id)) item.final = false;
  }

  /**
   * Takes in what was made of a pod, by ID and name alone: the look that follows asks about the rest, and only then is it shown to other threads
   * (garbage collection would take what has no age yet for the oldest).
   */
  applyMade(uid: PodUID, { sandbox, containers }: CreatedObjects, nowMs: number): void {
    if (sandbox && !this.#isKnown(this.#sandboxes.get(sandbox.id), uid, nowMs)) {
      const { id, podName: name, podNamespace: namespace } = sandbox;
      this.#addSandbox(PodSandbox.fromPartial({ id, metadata: { uid, name, namespace } }), nowMs);
    }
    for (const { id, sandboxID: podSandboxId, name } of containers) {
      if (this.#isKnown(this.#containers.get(id), uid, nowMs)) continue;
      this.#addContainer(Container.fromPartial({ id, podSandboxId, metadata: { name }, labels: { [podUIDLabel]: uid } }), nowMs);
    }
  }

  sandbox(id: SandboxID): SandboxItem | undefined {
    return this.#sandboxes.get(id);
  }

  /** The runtime said so of one item, in answer to a question. */
  setState(item: Item, rawState: number, nowMs: number): void {
    item.newsAtMs = nowMs;
    if (item.slot < 0) return;
    if (item.rawState === rawState) return;
    this.#version += 1;
    if (item.kind === 'sandbox') this.#sandboxes.setRawState(item, rawState);
    else this.#containers.setRawState(item, rawState);
  }

  /** The runtime has answered about it: all is known of it that a snapshot shows. */
  setInspected(item: Item): void {
    item.inspected = true;
    this.#show(item);
  }

  /** The runtime has it no more. It stays in its pod's record until main was told. */
  setGone(item: Item, nowMs: number): void {
    item.newsAtMs = nowMs;
    if (item.slot < 0) return;
    this.#version += 1;
    if (item.kind === 'sandbox') this.#sandboxes.remove(item);
    else this.#containers.remove(item);
  }

  /**
   * Whether the item is known as that pod's, or as any pod's where `uid` is undefined. When the runtime said once that it belongs to another
   * pod, its newest answer holds: the other pod loses the item, which can be taken in again. Otherwise one wrong reply would hide a pod's
   * sandbox for as long as this thread lives.
   */
  #isKnown(item: Item | undefined, uid: string | undefined, nowMs: number): boolean {
    if (!item) return false;
    if (uid === undefined || item.pod.uid === uid) return true;
    this.#onLeftOut(item.id, `the runtime said that it belongs to pod ${item.pod.uid}, and now to pod ${uid}`);
    this.setGone(item, nowMs);
    this.#setNews(item.pod, item, nowMs);
    return false;
  }

  forget(record: PodRecord): void {
    this.#pods.delete(record.uid);
    this.#dirty.delete(record);
  }

  /**
   * A start may wait a little: mostly it is a sync of ours, which asks for a look when it is done. So may what the first lists show to run: its
   * pod's first sync asks. Everything else is looked at now.
   */
  #setNews(record: PodRecord, item: Item, nowMs: number): void {
    const mayWait = this.isFirstList ? item.state === 'running' : isStart(item);
    if (!mayWait) record.retryAtMs = 0;
    else if (!this.#dirty.has(record)) record.retryAtMs = nowMs + startPatienceMs;
    this.#dirty.add(record);
  }

  #applyList<T extends Item>(
    items: KnownItems<T>,
    difference: ListDifference<T>,
    add: (bytes: Uint8Array) => Item | undefined,
    beganAtMs: number,
    nowMs: number,
  ): boolean {
    let changed = this.#applyChanges(difference, beganAtMs, nowMs);
    for (const bytes of difference.added) changed = this.#take(bytes, add, nowMs) || changed;
    return this.#applyMissing(items, beganAtMs, nowMs) || changed;
  }

  #applyChanges<T extends Item>(difference: ListDifference<T>, beganAtMs: number, nowMs: number): boolean {
    let changed = false;
    for (let i = 0; i < difference.changedCount; i += 1) {
      const item = difference.changedItem(i);
      if (item.newsAtMs > beganAtMs) continue;
      this.setState(item, difference.changedState(i), nowMs);
      this.#setNews(item.pod, item, nowMs);
      // A change that makes no event (created to unknown) still wants a sync.
      if (item.state === item.reported) item.pod.reinspect = true;
      item.final = false;
      changed = true;
    }
    return changed;
  }

  #applyMissing<T extends Item>(items: KnownItems<T>, beganAtMs: number, nowMs: number): boolean {
    let changed = false;
    for (let slot = items.nextMissing(0); slot >= 0; slot = items.nextMissing(slot + 1)) {
      const item = items.at(slot);
      if (item.newsAtMs > beganAtMs) continue;
      this.setGone(item, nowMs);
      this.#setNews(item.pod, item, nowMs);
      changed = true;
    }
    return changed;
  }

  /** Takes in an item of a list that is new. One that can't be read is left out: the others are as good as ever. */
  #take(bytes: Uint8Array, add: (bytes: Uint8Array) => Item | undefined, nowMs: number): boolean {
    try {
      const item = add(bytes);
      if (!item) return false;
      this.#show(item);
      this.#setNews(item.pod, item, nowMs);
      return true;
    } catch (err) {
      this.#onLeftOut('', messageOf(err));
      return false;
    }
  }

  #show(item: Item | undefined): void {
    if (item?.kind === 'sandbox') this.#sandboxes.show(item);
    else if (item) this.#containers.show(item);
  }

  #addSandbox(sandbox: PodSandbox, nowMs: number): SandboxItem | undefined {
    const { id, metadata, state: rawState } = sandbox;
    if (!metadata) return this.#leaveOut(id, 'a sandbox without metadata');
    const pod = this.#podFor(metadata);
    return this.#add<SandboxItem>(this.#sandboxes, pod, nowMs, {
      kind: 'sandbox',
      id: id as ContainerID,
      pod,
      rawState,
      state: plegStateOf('sandbox', rawState),
      status: toListedSandboxStatus(sandbox),
      ...unplaced,
    });
  }

  #addContainer(container: Container, nowMs: number): ContainerItem | undefined {
    const { id, labels, podSandboxId, metadata, state: rawState } = container;
    const sandbox = this.#sandboxes.get(podSandboxId);
    const uid = labels[podUIDLabel];
    if (!metadata) return this.#leaveOut(id, 'a container without metadata');
    // Who made a container without labels is not known; whose sandbox it runs in is.
    if (uid === undefined && !sandbox) return this.#leaveOut(id, 'a container without a pod');
    const pod =
      uid === undefined
        ? sandbox!.pod
        : this.#podFor({ uid, name: labels[podNameLabel] ?? '', namespace: labels[podNamespaceLabel] ?? '' });
    return this.#add<ContainerItem>(this.#containers, pod, nowMs, {
      kind: 'container',
      id: id as ContainerID,
      pod,
      rawState,
      state: plegStateOf('container', rawState),
      status: toListedContainerStatus(container),
      ...unplaced,
    });
  }

  #add<T extends Item>(items: KnownItems<T>, pod: PodRecord, nowMs: number, item: T): T | undefined {
    const added = items.add(item, nowMs);
    if (added !== item) return added;
    // One that was gone and is back keeps what main knows of it.
    item.reported = pod.items.get(item.id)?.reported ?? 'nonExistent';
    this.#version += 1;
    pod.items.set(item.id, item);
    this.#pods.set(pod.uid, pod);
    return item;
  }

  #leaveOut(id: string, reason: string): undefined {
    this.#onLeftOut(id, reason);
  }

  #podFor({ uid, name, namespace }: PodName): PodRecord {
    const known = this.#pods.get(uid as PodUID);
    if (known) return known;
    return { uid: uid as PodUID, name, namespace, items: new Map(), posted: null, retryAtMs: 0, reinspect: false };
  }
}

/** Made or begun, not ended nor lost. */
function isStart({ kind, state, rawState }: Item): boolean {
  return state === 'running' || (kind === 'container' && rawState === (ContainerState.CONTAINER_CREATED as number));
}
