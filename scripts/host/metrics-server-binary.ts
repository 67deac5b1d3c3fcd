/** For scripts/e2e, until the runner of tests builds what it needs from ./programs. */
export { ensureMetricsServer } from './programs/metrics-server.ts';
