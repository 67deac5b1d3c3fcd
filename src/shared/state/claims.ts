/**
 * The slots of the sync pool's threads, and the threads' claims to them. Piscina passes the same worker data to every thread, so each thread claims the first
 * free slot, which has its heartbeat row and its metrics segment. Main releases the slot when the thread has exited.
 */
export function createClaims(slots: number): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT);
}

/** Claims the first free slot for this thread (`threadId` of node:worker_threads, never 0). Throws when there is none. */
export function claimSlot(claims: SharedArrayBuffer, threadId: number): number {
  const cells = new Int32Array(claims);
  for (let slot = 0; slot < cells.length; slot += 1) {
    if (Atomics.compareExchange(cells, slot, 0, threadId) === 0) return slot;
  }
  throw new Error(`thread ${threadId} found all ${cells.length} slots of the pool taken, by the threads ${cells.join(', ')}`);
}

/** Releases the slot of a thread that has exited. Returns the slot, or −1 if it had none. */
export function releaseSlot(claims: SharedArrayBuffer, threadId: number): number {
  const cells = new Int32Array(claims);
  for (let slot = 0; slot < cells.length; slot += 1) {
    if (Atomics.compareExchange(cells, slot, threadId, 0) === threadId) return slot;
  }
  return -1;
}

/** The thread that has claimed a slot, or 0. */
export function slotOwner(claims: SharedArrayBuffer, slot: number): number {
  return Atomics.load(new Int32Array(claims), slot);
}
