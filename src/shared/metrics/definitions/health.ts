/** The metrics of `/metrics/slis`, which no other page shows (upstream component-base metrics/prometheus/slis). */
import { counter, gauge } from '../define.ts';

export const healthcheck = gauge(
  'kubernetes_healthcheck',
  'This metric records the result of a single healthcheck.',
  ['name', 'type'],
  'STABLE',
  // Two threads run the checks, each on request. The metric shows a fault that either of them found.
  'min',
);
export const healthchecksTotal = counter(
  'kubernetes_healthchecks_total',
  'This metric records the results of all healthcheck.',
  ['name', 'type', 'status'],
  'STABLE',
);
