/**
 * The pods, sandboxes and containers that the runtime has, with the states last reported to main. Relists and inspections update the
 * records. A list says nothing about items that changed after its call started, because the runtime may have computed the reply earlier.
 */
import type { CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import { Container, PodSandbox } from '../../../shared/cri/generated/cri-v1.ts';
import { containerList, sandboxList } from '../../../shared/cri/list-scanner.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { podNameLabel, podNamespaceLabel, podUIDLabel } from '../../../shared/kubernetes/annotations.ts';
import type { PodUID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import type { RuntimeSnapshotWriter } from '../../../shared/state/runtime-snapshot.ts';
import { KnownItems, type OnSkipped } from './known-items.ts';
import type { ListDifference } from './list-difference.ts';
import { newPodRecord, toContainerItem, toSandboxItem } from './pod-record.ts';
import type { ContainerItem, Item, PodMetadata, PodRecord, SandboxItem } from './pod-record.ts';
import { PodsToInspect } from './pods-to-inspect.ts';

export class PodRecords {
  readonly #pods = new Map<PodUID, PodRecord>();
  readonly #sandboxes: KnownItems<SandboxItem>;
  readonly #containers: KnownItems<ContainerItem>;
  readonly #snapshot: RuntimeSnapshotWriter;
  readonly #onSkipped: OnSkipped;
  readonly #toInspect = new PodsToInspect();
  #relists = 0;
  #version = 0;

  constructor(snapshot: RuntimeSnapshotWriter, onSkipped: OnSkipped) {
    this.#snapshot = snapshot;
    this.#onSkipped = onSkipped;
    this.#sandboxes = new KnownItems({ layout: sandboxList, snapshot, onSkipped });
    this.#containers = new KnownItems({ layout: containerList, snapshot, onSkipped });
  }

  get(uid: PodUID): PodRecord | undefined {
    return this.#pods.get(uid);
  }

  all(): IterableIterator<PodRecord> {
    return this.#pods.values();
  }

  podsToInspect(): Iterable<PodRecord> {
    return this.#toInspect.all();
  }

  /** Called when an inspection starts that covers all known changes of the pod. */
  markInspected(record: PodRecord): void {
    this.#toInspect.delete(record);
  }

  /** Called when an inspection failed. Relists retry it from `inspectAtMs` on. */
  markFailed(record: PodRecord, inspectAtMs: number): void {
    record.inspectAtMs = inspectAtMs;
    record.reinspect = true;
    if (this.#pods.has(record.uid)) this.#toInspect.addFailed(record);
  }

  /** A runtime event arrived for the sandbox or container, so its status is no longer final. Returns its pod, and whether it was final. */
  invalidate(id: string): { readonly pod: PodRecord; readonly wasFinal: boolean } | undefined {
    const item = this.#containers.get(id) ?? this.#sandboxes.get(id);
    if (!item) return undefined;
    const wasFinal = item.final;
    item.final = false;
    return { pod: item.pod, wasFinal };
  }

  /** The records contain the first relist and no later one. */
  get isFirstRelist(): boolean {
    return this.#relists === 1;
  }

  /** The records contain a relist: a pod without a record does not exist in the runtime. */
  get hasRelisted(): boolean {
    return this.#relists > 0;
  }

  /** Increases whenever an item is added, is removed or changes its state. */
  get version(): number {
    return this.#version;
  }

  /** Counts all items, and those without a row in the snapshot. */
  counts(): { readonly sandboxes: number; readonly containers: number; readonly outsideSnapshot: number } {
    const [sandboxes, containers] = [this.#sandboxes.size, this.#containers.size];
    return { sandboxes, containers, outsideSnapshot: sandboxes + containers - this.#snapshot.size };
  }

  /** Counts containers by the CRI's number of their state. Unrecognized states count as the last, unknown. */
  containersByState(): readonly number[] {
    const counts = [0, 0, 0, 0];
    this.#containers.countRawStates(counts);
    return counts;
  }

  /**
   * Applies both complete lists and marks the changed pods for inspection. Returns whether anything changed. Throws ListScanError for
   * malformed bytes; then nothing is applied.
   */
  applyLists(sandboxes: readonly Uint8Array[], containers: readonly Uint8Array[], startedAtMs: number, nowMs: number): boolean {
    this.#relists += 1;
    const sandboxDifference = this.#sandboxes.compare(sandboxes, this.#relists);
    const containerDifference = this.#containers.compare(containers, this.#relists);
    const addSandbox = (bytes: Uint8Array) => this.#addSandbox(PodSandbox.decode(bytes), nowMs);
    const changed = this.#applyList(this.#sandboxes, sandboxDifference, addSandbox, startedAtMs, nowMs);
    const addContainer = (bytes: Uint8Array) => this.#addContainer(Container.decode(bytes), nowMs);
    const containersChanged = this.#applyList(this.#containers, containerDifference, addContainer, startedAtMs, nowMs);
    this.#sandboxes.release();
    this.#containers.release();
    return changed || containersChanged;
  }

  /**
   * Adds the new items of one pod's lists, for an inspection. An item outside of these lists may be newer than they are, or have no pod
   * label. The inspection therefore requests its status, even a final one.
   */
  applyPodLists(uid: PodUID, sandboxes: readonly PodSandbox[], containers: readonly Container[], nowMs: number): void {
    for (const sandbox of sandboxes) {
      if (!this.#isKnown(this.#sandboxes.get(sandbox.id), sandbox.metadata?.uid, nowMs)) this.#publish(this.#addSandbox(sandbox, nowMs));
    }
    for (const container of containers) {
      const isKnown = this.#isKnown(this.#containers.get(container.id), container.labels[podUIDLabel], nowMs);
      if (!isKnown) this.#publish(this.#addContainer(container, nowMs));
    }
    const listed = new Set<string>([...sandboxes, ...containers].map(({ id }) => id));
    for (const item of this.#pods.get(uid)?.items.values() ?? []) if (!listed.has(item.id)) item.final = false;
  }

  /**
   * Adds items that a task created, with only their ID and name. The snapshot shows them after their inspection: garbage collection would
   * treat an item without a creation time as the oldest.
   */
  applyCreated(uid: PodUID, { sandbox, containers }: CreatedObjects, nowMs: number): void {
    if (sandbox && !this.#isKnown(this.#sandboxes.get(sandbox.id), uid, nowMs)) {
      const { id, podName: name, podNamespace: namespace } = sandbox;
      this.#addSandbox(PodSandbox.fromPartial({ id, metadata: { uid, name, namespace } }), nowMs);
    }
    for (const { id, sandboxID: podSandboxId, name } of containers) {
      if (this.#isKnown(this.#containers.get(id), uid, nowMs)) continue;
      this.#addContainer(Container.fromPartial({ id, podSandboxId, metadata: { name }, labels: { [podUIDLabel]: uid } }), nowMs);
    }
  }

  /** Returns the IDs of the containers of a sandbox's pod. */
  containersOf(sandboxID: string): string[] {
    const items = this.#sandboxes.get(sandboxID)?.pod.items.values() ?? [];
    return [...items].filter(({ kind }) => kind === 'container').map(({ id }) => id);
  }

  sandbox(id: SandboxID): SandboxItem | undefined {
    return this.#sandboxes.get(id);
  }

  /** Sets the state from a reply of the runtime. */
  setState(item: Item, rawState: number, nowMs: number): void {
    item.updatedAtMs = nowMs;
    if (item.slot < 0) return;
    if (item.rawState === rawState) return;
    this.#version += 1;
    if (item.kind === 'sandbox') this.#sandboxes.setRawState(item, rawState);
    else this.#containers.setRawState(item, rawState);
  }

  /** Called after a status call for the item. The snapshot shows the item from now on. */
  setInspected(item: Item): void {
    item.inspected = true;
    this.#publish(item);
  }

  /** The item's image is known now. */
  setImage(item: SandboxItem): void {
    this.#publish(item);
  }

  /** The runtime no longer has the item. It stays in its pod's record until main has its events. */
  setRemoved(item: Item, nowMs: number): void {
    item.updatedAtMs = nowMs;
    if (item.slot < 0) return;
    this.#version += 1;
    if (item.kind === 'sandbox') this.#sandboxes.remove(item);
    else this.#containers.remove(item);
  }

  /**
   * Whether the item is known as an item of this pod, or of any pod when `uid` is undefined. When the runtime first reported another pod,
   * the latest reply wins: the other pod loses the item, and the caller adds it again. Otherwise one wrong reply would hide a pod's sandbox
   * until the thread restarts.
   */
  #isKnown(item: Item | undefined, uid: string | undefined, nowMs: number): boolean {
    if (!item) return false;
    if (uid === undefined || item.pod.uid === uid) return true;
    this.#onSkipped(item.id, `the runtime reported pod ${item.pod.uid} first, and now pod ${uid}`);
    this.setRemoved(item, nowMs);
    this.#markChanged(item, nowMs);
    return false;
  }

  forget(record: PodRecord): void {
    this.#pods.delete(record.uid);
    this.#toInspect.delete(record);
  }

  #markChanged(item: Item, nowMs: number): void {
    this.#toInspect.addChanged(item.pod, item, this.isFirstRelist, nowMs);
  }

  #applyList<T extends Item>(
    items: KnownItems<T>,
    difference: ListDifference<T>,
    add: (bytes: Uint8Array) => Item | undefined,
    startedAtMs: number,
    nowMs: number,
  ): boolean {
    let changed = this.#applyChanges(difference, startedAtMs, nowMs);
    for (const bytes of difference.added) changed = this.#applyAdded(bytes, add, nowMs) || changed;
    return this.#applyMissing(items, startedAtMs, nowMs) || changed;
  }

  #applyChanges<T extends Item>(difference: ListDifference<T>, startedAtMs: number, nowMs: number): boolean {
    let changed = false;
    for (let i = 0; i < difference.changedCount; i += 1) {
      const item = difference.changedItem(i);
      if (item.updatedAtMs > startedAtMs) continue;
      this.setState(item, difference.changedState(i), nowMs);
      this.#markChanged(item, nowMs);
      // A change without an event (created to unknown) still requires a sync.
      if (item.state === item.reported) item.pod.reinspect = true;
      item.final = false;
      changed = true;
    }
    return changed;
  }

  #applyMissing<T extends Item>(items: KnownItems<T>, startedAtMs: number, nowMs: number): boolean {
    let changed = false;
    for (let slot = items.nextMissing(0); slot >= 0; slot = items.nextMissing(slot + 1)) {
      const item = items.at(slot);
      if (item.updatedAtMs > startedAtMs) continue;
      this.setRemoved(item, nowMs);
      this.#markChanged(item, nowMs);
      changed = true;
    }
    return changed;
  }

  /** Adds a new item of a list. Skips an item that cannot be decoded, because the other items are valid. */
  #applyAdded(bytes: Uint8Array, add: (bytes: Uint8Array) => Item | undefined, nowMs: number): boolean {
    try {
      const item = add(bytes);
      if (!item) return false;
      this.#publish(item);
      this.#markChanged(item, nowMs);
      return true;
    } catch (err) {
      this.#onSkipped('', messageOf(err));
      return false;
    }
  }

  #publish(item: Item | undefined): void {
    if (item?.kind === 'sandbox') this.#sandboxes.publish(item);
    else if (item) this.#containers.publish(item);
  }

  #addSandbox(sandbox: PodSandbox, nowMs: number): SandboxItem | undefined {
    const { id, metadata } = sandbox;
    if (!metadata) return this.#skip(id, 'a sandbox without metadata');
    return this.#add(this.#sandboxes, toSandboxItem(sandbox, this.#podFor(metadata)), nowMs);
  }

  #addContainer(container: Container, nowMs: number): ContainerItem | undefined {
    const { id, labels, podSandboxId, metadata } = container;
    const sandbox = this.#sandboxes.get(podSandboxId);
    const uid = labels[podUIDLabel];
    if (!metadata) return this.#skip(id, 'a container without metadata');
    // A container without labels belongs to the pod of its sandbox.
    if (uid === undefined && !sandbox) return this.#skip(id, 'a container without a pod');
    const pod =
      uid === undefined
        ? sandbox!.pod
        : this.#podFor({ uid, name: labels[podNameLabel] ?? '', namespace: labels[podNamespaceLabel] ?? '' });
    return this.#add(this.#containers, toContainerItem(container, pod), nowMs);
  }

  #add<T extends Item>(items: KnownItems<T>, item: T, nowMs: number): T | undefined {
    const { pod } = item;
    const added = items.add(item, nowMs);
    if (added !== item) return added;
    // An item that was removed and reappears keeps its reported state.
    item.reported = pod.items.get(item.id)?.reported ?? 'nonExistent';
    this.#version += 1;
    pod.items.set(item.id, item);
    this.#pods.set(pod.uid, pod);
    return item;
  }

  #skip(id: string, reason: string): undefined {
    this.#onSkipped(id, reason);
  }

  #podFor(metadata: PodMetadata): PodRecord {
    return this.#pods.get(metadata.uid as PodUID) ?? newPodRecord(metadata);
  }
}
