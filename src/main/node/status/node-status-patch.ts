/**
 * Compares a Node's status with the server's and computes the minimal patch. Pure. Upstream: nodeStatusHasChanged, and PatchNodeStatus of
 * component-helpers/node/util.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NodeAddress } from '../../../shared/kubernetes/api.ts';
import { compareQuantities, QuantityError } from '../../../shared/kubernetes/quantity.ts';
import type { Node, NodeCondition, NodeStatus, NodeSystemInfo, ResourceList } from '../node-object.ts';

type Json = Readonly<Record<string, unknown>>;

/** Returns true if more than heartbeat times changed. Compares quantities by value; empty is the same as absent. */
export function statusHasChanged(before: NodeStatus = {}, after: NodeStatus = {}): boolean {
  return !isSameInGo(comparable(before), comparable(after)) || !sameResources(before, after);
}

/**
 * Omits heartbeat times, and resources, which are compared separately. Sorts conditions by type. Treats a runningInUserNamespace of false as
 * absent: an API server of v1.36, or one without the gate KubeletInUserNamespace, drops the field, and the difference would write the status
 * with each heartbeat, as it does upstream.
 */
function comparable(status: NodeStatus): unknown {
  const { conditions = [], capacity: _capacity, allocatable: _allocatable, nodeInfo, ...rest } = status;
  const { runningInUserNamespace, ...info }: Partial<NodeSystemInfo> = nodeInfo ?? {};
  const withoutHeartbeats = conditions.map((condition) => {
    const { lastHeartbeatTime: _heartbeat, ...others } = condition;
    return others;
  });
  const known = { ...info, ...(runningInUserNamespace === true ? { runningInUserNamespace } : {}) };
  return { ...rest, nodeInfo: known, conditions: withoutHeartbeats.sort((a, b) => (a.type < b.type ? -1 : 1)) };
}

function sameResources(before: NodeStatus, after: NodeStatus): boolean {
  const sameList = (a: ResourceList = {}, b: ResourceList = {}) => {
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => sameQuantity(a[name], b[name]));
  };
  return sameList(before.capacity, after.capacity) && sameList(before.allocatable, after.allocatable);
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
 * Returns a strategic merge patch for `/status` with the changed labels, annotations and parts of the status. Null: no change. The patch
 * never contains the spec, nor conditions, labels and annotations of other writers.
 */
export function nodeStatusPatch(before: Node, after: Node): Json | null {
  const metadata = mapPatch(labelsAndAnnotations(before.metadata), labelsAndAnnotations(after.metadata));
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

/**
 * Returns the patch for a report of the status. If it removes a volume from volumesInUse, it has the Node's resourceVersion, so that the server
 * applies it to this version of the Node only. Otherwise a patch that seemed lost could arrive when a pod uses the volume again.
 */
export function nodeReportPatch(before: Node, after: Node): Json | null {
  const patch = nodeStatusPatch(before, after);
  const volumesInUse = new Set(after.status?.volumesInUse);
  if (!patch || before.status?.volumesInUse?.every((name) => volumesInUse.has(name)) !== false) return patch;
  return { ...patch, metadata: { ...(patch['metadata'] as object | undefined), resourceVersion: before.metadata.resourceVersion } };
}

/** Conditions are merged by type. Each contains only its changed fields. */
function patchConditions(before: readonly NodeCondition[], after: readonly NodeCondition[]): Json[] {
  return after.flatMap((condition) => {
    const previous = before.find(({ type }) => type === condition.type);
    const patch = previous ? mapPatch(previous, condition) : condition;
    return patch ? [{ type: condition.type, ...patch }] : [];
  });
}

/** The API declares the type as merge key although two addresses may share one, so the list is replaced as a whole. */
function patchAddresses(before: readonly NodeAddress[], after: readonly NodeAddress[]): readonly unknown[] | null {
  if (isSameInGo(before, after)) return null;
  return before.length === 0 ? after : [...after, { $patch: 'replace' }];
}

/** Merges objects field by field, replaces other values and sets removed fields to null. Returns null for no change. */
function mapPatch(before: object, after: object): Json | null {
  const [oldFields, newFields] = [withoutEmpty(before), withoutEmpty(after)];
  const changes = [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])].flatMap((name): [string, unknown][] => {
    const [from, to] = [ownProperty(oldFields, name), ownProperty(newFields, name)];
    if (isSameInGo(from, to)) return [];
    if (to === undefined) return [[name, null]];
    // Removes entries one by one, even the last, so that entries added by others since stay.
    return [[name, isPlainObject(from) && isPlainObject(to) ? mapPatch(from, to) : to]];
  });
  return changes.length === 0 ? null : Object.fromEntries(changes);
}

function ownProperty(object: Json, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Omits undefined values and empty lists, as Go does in JSON. */
function withoutEmpty(object: object): Json {
  const isEmpty = (value: unknown) => value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}

/**
 * Compares two values with Go's zero values as absent. The server writes `null` for an image's empty list of names and omits a size of zero.
 * Without this rule every heartbeat would write all images.
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

function labelsAndAnnotations({ labels = {}, annotations = {} }: Node['metadata']): Pick<Node['metadata'], 'labels' | 'annotations'> {
  return { labels, annotations };
}
