/** Connects to the runtime, for the calls that return usage. */
import type { CriClient } from '../../shared/cri/client.ts';

export async function connectToRuntime(endpoint: string): Promise<CriClient['runtime']> {
  // Imported on demand: the client takes 20 MB.
  const { CriClient } = await import('../../shared/cri/client.ts');
  const { countRuntimeOperation } = await import('../../shared/cri/count-calls.ts');
  return new CriClient({ endpoint, onCall: countRuntimeOperation }).runtime;
}
