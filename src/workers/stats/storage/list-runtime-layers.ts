/** Asks the runtime for the writable layers of all containers. Loads the CRI client on first use: most nodes never need it in this thread. */
import type { LayerUsage } from './runtime-layers.ts';

export async function listRuntimeLayers(endpoint: string, deadlineMs: number): Promise<Map<string, LayerUsage>> {
  // One import per statement: the check of the bundle (scripts/bundle/imported-names.ts) reads the names from this form.
  const { CriClient } = await import('../../../shared/cri/client.ts');
  const { countRuntimeOperation } = await import('../../../shared/cri/count-calls.ts');
  const client = new CriClient({ endpoint, onCall: countRuntimeOperation });
  try {
    const { stats } = await client.runtime.call('listContainerStats', {}, { deadlineMs });
    return new Map(
      stats.map(({ attributes, writableLayer }) => [
        attributes?.id ?? '',
        { usedBytes: Number(writableLayer?.usedBytes?.value ?? NaN), inodesUsed: Number(writableLayer?.inodesUsed?.value ?? NaN) },
      ]),
    );
  } finally {
    client.close();
  }
}
