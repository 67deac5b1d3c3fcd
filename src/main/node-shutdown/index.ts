/**
 * The graceful shutdown of the node: pods end in order, with the time of their priority, before the machine goes down. Owns logind's delay lock, the connection
 * to logind and the record of the last shutdown. wiring/start-node-shutdown.ts creates the manager; the node status and admission read the state.
 * Upstream: pkg/kubelet/nodeshutdown.
 */
export { FinishWaits } from './finish-waits.ts';
export { NodeShutdownState } from './node-shutdown-state.ts';
export { ShutdownManager } from './shutdown-manager.ts';
export { ShutdownRecord } from './shutdown-record.ts';
export { shutdownPeriods } from './shutdown-periods.ts';
