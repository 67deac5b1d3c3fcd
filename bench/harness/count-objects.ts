/** Counts the JavaScript objects that a function allocates, with V8's heap profiler sampling every allocation. */
import { Session } from 'node:inspector/promises';

const iterations = 20;

/** Returns the average per call. Calls the function before, so that one-time allocations are not counted. */
export async function countAllocatedObjects(act: () => void): Promise<number> {
  for (let iteration = 0; iteration < iterations; iteration += 1) act();
  const session = new Session();
  session.connect();
  try {
    const options = { samplingInterval: 1, includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    const count = async (what: () => void) => {
      await session.post('HeapProfiler.startSampling', options);
      for (let iteration = 0; iteration < iterations; iteration += 1) what();
      const { profile } = await session.post('HeapProfiler.stopSampling');
      return (profile as unknown as { samples: readonly unknown[] }).samples.length;
    };
    // The profiler's own calls allocate objects too.
    const idle = await count(() => {});
    return Math.max(0, (await count(act)) - idle) / iterations;
  } finally {
    session.disconnect();
  }
}
