/** What `/metrics/slis` shows, and nothing else does (upstream component-base metrics/prometheus/slis). */
import { counter, gauge } from '../define.ts';

export const healthcheck = gauge(
  'kubernetes_healthcheck',
  'This metric records the result of a single healthcheck.',
  ['name', 'type'],
  'STABLE',
  // Two threads check, each when it is asked: a fault that one of them saw is shown.
  'min',
);
export const healthchecksTotal = counter(
  'kubernetes_healthchecks_total',
  'This metric records the results of all healthcheck.',
  ['name', 'type', 'status'],
  'STABLE',
);
