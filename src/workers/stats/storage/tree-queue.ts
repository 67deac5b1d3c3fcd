/**
 * Decides which trees are measured next. Pure: time is an argument, and the results come from the helper process.
 *
 *  - Pods are served round-robin, with one tree each time: a pod with many or large trees delays only itself. A large tree gets one slice each time.
 *  - A tree is due again one period after the end of its walk, and later if the walk was expensive.
 *  - When the helper does not answer, every tree of the request is measured alone the next time. A tree that hangs alone twice waits for a minute, then longer.
 */
import type { TreeRequest, TreeUsage } from '../../../shared/contracts/helper.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

export interface Tree {
  readonly id: string;
  readonly podUID: PodUID;
  readonly path: string;
  readonly periodMs: number;
  /** The wait between two walks is up to this much longer, at random: 1 doubles it at most (upstream's factor for volumes). */
  readonly jitter: number;
  /** The quota project of the directory. */
  readonly project?: number;
}

export interface MeasuredTree {
  readonly bytes: number;
  readonly inodes: number;
  readonly isLowerBound: boolean;
  /** From the first slice to the last one. Null: the walk has not ended. */
  readonly durationMs: number | null;
  /** The usage was read from the project's quota, without a walk. */
  readonly isFromQuota?: true;
}

interface State {
  tree: Tree;
  dueAtMs: number;
  hasBegun: boolean;
  /** When the first slice of the current or next walk was requested. */
  beganAtMs: number;
  /** The processor time of the walk that has begun. */
  cpuMs: number;
  /** The result of the last complete walk. */
  last: { readonly bytes: number; readonly inodes: number } | null;
  /** A request with this tree got no answer, so the next request measures the tree alone. */
  isSuspect: boolean;
  /** How many requests for the tree alone got no answer, one after the other. */
  hangs: number;
}

const maxTreesPerRequest = 32;
/** The most walks that are unfinished. Each holds up to 32 handles and some megabytes in the helper. */
const maxBegun = 32;
/** A tree uses at most a fiftieth of a core, so that there is budget for others. */
const minIdleFactor = 50;
/** Doubled for each earlier hang: a minute after the second one. The first hang delays a tree only by its period. */
const hangDelayBaseMs = 30_000;
const maxHangDelayMs = 60 * 60_000;

export class TreeQueue {
  readonly #random: () => number;
  /** In the order in which the pods are served. */
  readonly #pods = new Map<PodUID, Map<string, State>>();
  readonly #states = new Map<string, State>();

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Replaces the list of trees. Returns the IDs of walks that have begun and that nobody needs any more. */
  setTrees(trees: Iterable<Tree>, nowMs: number): string[] {
    const removed = new Map(this.#states);
    for (const tree of trees) {
      removed.delete(tree.id);
      const state = this.#states.get(tree.id);
      if (state) state.tree = tree;
      else this.#add(tree, nowMs);
    }
    for (const [id, { tree }] of removed) {
      this.#states.delete(id);
      const pod = this.#pods.get(tree.podUID);
      pod?.delete(id);
      if (pod?.size === 0) this.#pods.delete(tree.podUID);
    }
    return [...removed.values()].filter(({ hasBegun }) => hasBegun).map(({ tree }) => tree.id);
  }

  #add(tree: Tree, nowMs: number): void {
    const state: State = { tree, dueAtMs: nowMs, hasBegun: false, beganAtMs: nowMs, cpuMs: 0, last: null, isSuspect: false, hangs: 0 };
    this.#states.set(tree.id, state);
    const pod = this.#pods.get(tree.podUID);
    if (pod) pod.set(tree.id, state);
    else this.#pods.set(tree.podUID, new Map([[tree.id, state]]));
  }

  /** Returns the trees of the next request, at most one of each pod. Empty: none is due. */
  next(nowMs: number): TreeRequest[] {
    const chosen: State[] = [];
    for (const pod of this.#pods.values()) {
      const state = mostOverdue(pod.values(), nowMs);
      if (!state) continue;
      // A suspect tree is measured alone, so it waits until its pod is the first.
      if (state.isSuspect && chosen.length > 0) continue;
      chosen.push(state);
      if (state.isSuspect || chosen.length === maxTreesPerRequest) break;
    }
    for (const state of chosen) if (!state.hasBegun) state.beganAtMs = nowMs;
    let placesLeft = maxBegun - [...this.#states.values()].filter(({ hasBegun }) => hasBegun).length;
    return chosen.map(({ tree: { id, path, project }, hasBegun }) => ({
      id,
      path,
      // The helper keeps what it has counted when a walk does not end in time: only for some trees, because that needs memory.
      keep: hasBegun || placesLeft-- > 0,
      ...(project === undefined ? {} : { project }),
    }));
  }

  /** Takes a result. Returns the usage to publish; null when the result has nothing new. */
  onMeasured(usage: TreeUsage, nowMs: number): MeasuredTree | null {
    const state = this.#states.get(usage.id);
    if (!state) return null;
    this.#moveToEnd(state.tree.podUID);
    state.isSuspect = false;
    state.hangs = 0;
    state.cpuMs += usage.cpuMs;
    state.hasBegun = usage.outcome === 'begun';
    // An unfinished walk is due at once, but after the pod's other trees that are due.
    if (state.hasBegun) state.dueAtMs = nowMs;
    else this.#delay(state, nowMs);
    if (usage.outcome === 'failed') return null;
    const { bytes, inodes } = usage;
    if (usage.outcome === 'done') {
      state.last = { bytes, inodes };
      const durationMs = nowMs - state.beganAtMs;
      return { bytes, inodes, isLowerBound: usage.isIncomplete, durationMs, ...(usage.isFromQuota && { isFromQuota: true }) };
    }
    // The walk has not ended: the counts so far are a lower bound. An earlier complete walk knows more, unless the tree has grown.
    if (bytes <= (state.last?.bytes ?? -1) && inodes <= (state.last?.inodes ?? -1)) return null;
    const [knownBytes, knownInodes] = [state.last?.bytes ?? 0, state.last?.inodes ?? 0];
    return { bytes: Math.max(bytes, knownBytes), inodes: Math.max(inodes, knownInodes), isLowerBound: true, durationMs: null };
  }

  #delay(state: State, nowMs: number): void {
    const { periodMs, jitter } = state.tree;
    state.dueAtMs = nowMs + Math.max(periodMs * (1 + jitter * this.#random()), state.cpuMs * minIdleFactor);
    state.cpuMs = 0;
  }

  /** The helper process hung or ended during this request, and its walks are lost. Returns the tree that must be the cause, or null when that is uncertain. */
  onHang(requested: readonly TreeRequest[], nowMs: number): Tree | null {
    for (const state of this.#states.values()) [state.hasBegun, state.cpuMs] = [false, 0];
    const states = requested.flatMap(({ id }) => this.#states.get(id) ?? []);
    for (const { tree } of states) this.#moveToEnd(tree.podUID);
    for (const state of states) state.isSuspect = true;
    const [culprit] = states;
    if (requested.length > 1 || !culprit) return null;
    // The first time it may be chance: somebody may have ended the process.
    const delayMs = culprit.hangs === 0 ? culprit.tree.periodMs : Math.min(hangDelayBaseMs * 2 ** culprit.hangs, maxHangDelayMs);
    culprit.dueAtMs = nowMs + delayMs;
    culprit.hangs += 1;
    return culprit.hangs > 1 ? culprit.tree : null;
  }

  #moveToEnd(podUID: PodUID): void {
    const pod = this.#pods.get(podUID);
    if (!pod) return;
    this.#pods.delete(podUID);
    this.#pods.set(podUID, pod);
  }
}

/** Of the trees that became due at the same time, returns one whose walk has not begun: a large tree delays no small tree. */
function mostOverdue(states: Iterable<State>, nowMs: number): State | undefined {
  let found: State | undefined;
  for (const state of states) {
    if (state.dueAtMs > nowMs) continue;
    if (!found || state.dueAtMs < found.dueAtMs || (state.dueAtMs === found.dueAtMs && found.hasBegun)) found = state;
  }
  return found;
}
