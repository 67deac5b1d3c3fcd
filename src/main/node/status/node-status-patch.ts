/**
 * Whether a Node's status differs from what the server has, and the patch that says so and nothing else. Pure. Upstream:
 * nodeStatusHasChanged, and PatchNodeStatus of component-helpers/node/util.
 */
import { isDeepStrictEqual } from 'node:util';
import { compareQuantities, QuantityError } from '../../../shared/kubernetes/quantity.ts';
import type { Node, NodeAddress, NodeCondition, NodeStatus, ResourceList } from '../node-object.ts';

type Json = Readonly<Record<string, unknown>>;

/** True when there is more to write than the times of the heartbeats. Quantities are compared by value; empty is as good as absent. */
export function statusHasChanged(before: NodeStatus = {}, after: NodeStatus = {}): boolean {
  return !isSameInGo(comparable(before), comparable(after)) || !sameResources(before, after);
}

/** Without what is compared by itself: resources; and without the heartbeats. Conditions in order of type. */
function comparable(status: NodeStatus): unknown {
  const { conditions = [], capacity: _capacity, allocatable: _allocatable, ...rest } = status;
  const settled = conditions.map((condition) => {
    const { lastHeartbeatTime: _heartbeat, ...others } = condition;
    return others;
  });
  return { ...rest, conditions: settled.sort((a, b) => (a.type < b.type ? -1 : 1)) };
}

function sameResources(before: NodeStatus, after: NodeStatus): boolean {
  const same = (a: ResourceList = {}, b: ResourceList = {}) => {
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => sameQuantity(a[name], b[name]));
  };
  return same(before.capacity, after.capacity) && same(before.allocatable, after.allocatable);
}

export function sameQuantity(a: string | undefined, b: string | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  try {
    return compareQuantities(a, b) === 0;
  } catch (err) {
    if (err instanceof QuantityError) return false;
    throw err;
  }
}

/**
 * A strategic merge patch for `/status`: the labels, annotations and parts of the status that changed. Null: nothing did. The spec is
 * never part of it, and foreign conditions, labels and annotations are not named in it, so they stay.
 */
export function nodeStatusPatch(before: Node, after: Node): Json | null {
  const metadata = mapPatch(maps(before.metadata), maps(after.metadata));
  const { conditions: conditionsBefore = [], addresses: addressesBefore = [], ...restBefore } = before.status ?? {};
  const { conditions = [], addresses = [], ...rest } = after.status ?? {};
  const conditionsPatch = patchConditions(conditionsBefore, conditions);
  const addressesPatch = patchAddresses(addressesBefore, addresses);
  const status = {
    ...mapPatch(restBefore, rest),
    ...(conditionsPatch.length > 0 ? { conditions: conditionsPatch } : {}),
    ...(addressesPatch ? { addresses: addressesPatch } : {}),
  };
  const patch = { ...(metadata ? { metadata } : {}), ...(Object.keys(status).length > 0 ? { status } : {}) };
  return Object.keys(patch).length > 0 ? patch : null;
}

/** Merged by type: each as what changed of it. */
function patchConditions(before: readonly NodeCondition[], after: readonly NodeCondition[]): Json[] {
  return after.flatMap((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    const patch = known ? mapPatch(known, condition) : condition;
    return patch ? [{ type: condition.type, ...patch }] : [];
  });
}

/** Their type is declared as their merge key, and two may have the same one: they are replaced whole. */
function patchAddresses(before: readonly NodeAddress[], after: readonly NodeAddress[]): readonly unknown[] | null {
  if (isSameInGo(before, after)) return null;
  return before.length === 0 ? after : [...after, { $patch: 'replace' }];
}

/** Objects are merged, field by field; what is not one is replaced; what is gone is null. Null: nothing changed. */
function mapPatch(before: object, after: object): Json | null {
  const [old, next] = [withoutEmpty(before), withoutEmpty(after)];
  const changes = [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((name): [string, unknown][] => {
    const [from, to] = [own(old, name), own(next, name)];
    if (isSameInGo(from, to)) return [];
    if (to === undefined) return [[name, null]];
    // Entry by entry, also when none is left: what others have added meanwhile is not ours to remove.
    return [[name, isPlainObject(from) && isPlainObject(to) ? mapPatch(from, to) : to]];
  });
  return changes.length === 0 ? null : Object.fromEntries(changes);
}

function own(object: Json, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** As Go writes a struct: what is undefined and empty lists are left out. */
function withoutEmpty(object: object): Json {
  const isEmpty = (value: unknown) => value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}

/**
 * Whether Go means the same by both. The server writes `null` for an image's empty list of names and leaves out its size of zero: who takes
 * that for a change writes all images with every heartbeat.
 */
function isSameInGo(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(normalizeGoZeroValues(a), normalizeGoZeroValues(b));
}

function normalizeGoZeroValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeGoZeroValues);
  if (!isPlainObject(value)) return value;
  const fields = Object.entries(withoutEmpty(value)).filter(([, field]) => field !== 0);
  return Object.fromEntries(fields.map(([name, field]) => [name, normalizeGoZeroValues(field)]));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function maps({ labels = {}, annotations = {} }: Node['metadata']): Pick<Node['metadata'], 'labels' | 'annotations'> {
  return { labels, annotations };
}
