/** Maps each eviction signal to the resource that runs short and to the node condition. Upstream: signalToResource and signalToNodeCondition in helpers.go. */
import { evictionSignals, type EvictionSignal, type PressureCondition, type StarvedResource } from '../../shared/contracts/eviction.ts';
import type { QuantityFormat } from '../../shared/kubernetes/quantity.ts';

interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

const memory: SignalFacts = { resource: 'memory', condition: 'MemoryPressure' };
const disk: SignalFacts = { resource: 'ephemeral-storage', condition: 'DiskPressure' };
const inodes: SignalFacts = { resource: 'inodes', condition: 'DiskPressure' };

const facts: Readonly<Record<EvictionSignal, SignalFacts>> = {
  'memory.available': memory,
  'allocatableMemory.available': memory,
  'nodefs.available': disk,
  'nodefs.inodesFree': inodes,
  'imagefs.available': disk,
  'imagefs.inodesFree': inodes,
  'containerfs.available': disk,
  'containerfs.inodesFree': inodes,
  'pid.available': { resource: 'pids', condition: 'PIDPressure' },
};

export function isEvictionSignal(name: string): name is EvictionSignal {
  return (evictionSignals as readonly string[]).includes(name);
}

export function resourceOf(signal: EvictionSignal): StarvedResource {
  return facts[signal].resource;
}

export function conditionOf(signal: EvictionSignal): PressureCondition {
  return facts[signal].condition;
}

/** The form in which amounts of the resource are written. */
export function formatOf(resource: StarvedResource): QuantityFormat {
  return resource === 'inodes' || resource === 'pids' ? 'DecimalSI' : 'BinarySI';
}
