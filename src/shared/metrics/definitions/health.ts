/** What `/metrics/slis` shows, and nothing else does (upstream component-base metrics/prometheus/slis). */
import { counter, gauge } from '../define.ts';

export const healthcheck = gauge(
  'kubernetes_healthcheck',
  'This metric records the result of a single healthcheck.',
  ['name', 'type'],
  'STABLE',
);
export const healthchecksTotal = counter(
  'kubernetes_healthchecks_total',
  'This metric records the results of all healthcheck.',
  ['name', 'type', 'status'],
  'STABLE',
);
