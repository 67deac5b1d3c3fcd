/**
 * Slots that the threads of the sync pool share: piscina gives every thread the same birth, so each takes the first free slot and
 * counts metrics and beats there. The main thread gives a dead thread's slot back.
 */
export function createClaims(slots: number): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT);
}

/** Takes the first free slot for this thread (`threadId` of node:worker_threads, not 0). Throws when all are taken. */
export function claimSlot(claims: SharedArrayBuffer, threadId: number): number {
  const cells = new Int32Array(claims);
  for (let slot = 0; slot < cells.length; slot += 1) {
    if (Atomics.compareExchange(cells, slot, 0, threadId) === 0) return slot;
  }
  throw new Error(`thread ${threadId} found all ${cells.length} slots of the pool taken, by the threads ${cells.join(', ')}`);
}

/** Frees what a thread holds, once it has ended. Answers with its slot; −1: it had none. */
export function releaseSlot(claims: SharedArrayBuffer, threadId: number): number {
  const cells = new Int32Array(claims);
  for (let slot = 0; slot < cells.length; slot += 1) {
    if (Atomics.compareExchange(cells, slot, threadId, 0) === threadId) return slot;
  }
  return -1;
}

/** The thread that holds a slot; 0: none does. */
export function slotOwner(claims: SharedArrayBuffer, slot: number): number {
  return Atomics.load(new Int32Array(claims), slot);
}
