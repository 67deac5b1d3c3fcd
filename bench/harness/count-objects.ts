/** How many JavaScript objects an act makes: V8's heap profiler, told to sample every single allocation. */
import { Session } from 'node:inspector/promises';

const turns = 20;

/** On average, for each turn. The act is run before, so that nothing that is made once is counted. */
export async function countAllocatedObjects(act: () => void): Promise<number> {
  for (let turn = 0; turn < turns; turn += 1) act();
  const session = new Session();
  session.connect();
  try {
    const options = { samplingInterval: 1, includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    const count = async (what: () => void) => {
      await session.post('HeapProfiler.startSampling', options);
      for (let turn = 0; turn < turns; turn += 1) what();
      const { profile } = await session.post('HeapProfiler.stopSampling');
      return (profile as unknown as { samples: readonly unknown[] }).samples.length;
    };
    // The profiler's own calls make some, too.
    const idle = await count(() => {});
    return Math.max(0, (await count(act)) - idle) / turns;
  } finally {
    session.disconnect();
  }
}
