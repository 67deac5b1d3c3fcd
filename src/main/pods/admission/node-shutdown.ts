/** Rejects pods while the node shuts down. Upstream: Admit in pkg/kubelet/nodeshutdown. */
import type { AdmitHandler } from './admit-handler.ts';

export function shutdownAdmission(isShuttingDown: () => boolean): AdmitHandler {
  const rejection = { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };
  return () => (isShuttingDown() ? { rejection } : null);
}
