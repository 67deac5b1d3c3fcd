/** Parses --reserved-memory (upstream: pkg/util/flag). */
import { canonicalQuantity } from '../../../shared/kubernetes/quantity.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { MemoryReservation } from '../kubelet-configuration.ts';

/** Parses `0:memory=1Gi,hugepages-2Mi=2Gi;1:memory=2Gi`. A repeated flag adds to the earlier ones. */
export function parseReservedMemory(text: string, previous: unknown): MemoryReservation[] {
  const earlierReservations = (previous as MemoryReservation[] | undefined) ?? [];
  return text === '' ? earlierReservations : [...earlierReservations, ...text.split(';').map(parseReservation)];
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
