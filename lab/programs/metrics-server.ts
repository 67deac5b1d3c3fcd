/** metrics-server, of the control plane's Go module. */
import { ensurePrograms } from './cluster-programs.ts';

/** Returns its path, built if necessary: see ensurePrograms. */
export async function ensureMetricsServer(progress: (what: string) => void): Promise<string> {
  return (await ensurePrograms(['metrics-server'], progress))['metrics-server'];
}
