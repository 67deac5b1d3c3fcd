/** Two flags with a grammar of their own: taints and memory kept back on NUMA nodes (upstream: pkg/util/taints, pkg/util/flag). */
import { canonicalQuantity } from '../../shared/kubernetes/quantity.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import type { MemoryReservation, Taint } from '../config/kubelet-configuration.ts';
import { labelKeyErrors, labelValueErrors } from '../../shared/kubernetes/names.ts';
import { taintEffects } from '../config/validation/taints.ts';

/** `key=value:effect` or `key:effect`, separated by commas. A second flag replaces the first. Those that end in `-` are dropped, as upstream does. */
export function parseTaints(text: string): Taint[] {
  const taints: Taint[] = [];
  for (const spec of text === '' ? [] : text.split(',')) {
    const taint = parseTaint(spec.replace(/-$/, ''));
    if (spec.endsWith('-')) continue;
    if (taint.effect === '') throw new Error(`invalid taint spec: ${spec}`);
    if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) {
      throw new Error(`duplicated taints with the same key and effect: ${spec}`);
    }
    taints.push(taint);
  }
  return taints;
}

function parseTaint(spec: string): Taint {
  const [pair = '', effect = '', ...more] = spec.split(':');
  const [key = '', value = '', ...rest] = pair.split('=');
  if (more.length > 0 || rest.length > 0) throw new Error(`invalid taint spec: ${spec}`);
  if (spec.includes(':') && !(taintEffects as readonly string[]).includes(effect)) {
    throw new Error(`invalid taint effect: ${effect}, unsupported taint effect`);
  }
  const errors = [...labelValueErrors(value), ...labelKeyErrors(key)];
  if (errors.length > 0) throw new Error(`invalid taint spec: ${spec}, ${errors.join('; ')}`);
  return { key, value, effect, timeAdded: null };
}

/** `0:memory=1Gi,hugepages-2Mi=2Gi;1:memory=2Gi`. A second flag adds to the first. */
export function parseReservedMemory(text: string, before: unknown): MemoryReservation[] {
  const earlier = (before as MemoryReservation[] | undefined) ?? [];
  return text === '' ? earlier : [...earlier, ...text.split(';').map(parseReservation)];
}

function parseReservation(reservation: string): MemoryReservation {
  const [node = '', limits, ...more] = reservation.split(':');
  if (limits === undefined || more.length > 0) {
    const form = 'numaNodeID:type=quantity[,type=quantity...]';
    throw new Error(`the reserved memory has incorrect format, expected ${form}, got ${reservation}`);
  }
  if (!/^[-+]?[0-9]+$/.test(node)) throw new Error(`failed to convert the NUMA node ID, expected integer, got ${node}`);
  return { numaNode: Number(node), limits: Object.fromEntries(limits.split(',').map(parseLimit)) };
}

function parseLimit(limit: string): [type: string, quantity: string] {
  const [type = '', quantity, ...more] = limit.split('=');
  if (quantity === undefined || more.length > 0)
    throw new Error(`the reserved limit has incorrect value, expected type=quantity, got ${limit}`);
  if (type !== 'memory' && !type.startsWith('hugepages-')) throw new Error(`memory type conversion error, unknown type: ${goQuote(type)}`);
  try {
    return [type, canonicalQuantity(quantity)];
  } catch (err) {
    throw new Error(`failed to parse the quantity: ${quantity}`, { cause: err });
  }
}
