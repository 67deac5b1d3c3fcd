/** Reloads of the configuration. */
import { counter } from '../define.ts';

export const configReloads = counter(
  'kubelet_configuration_reloads_total',
  'Attempts to reload the configuration, by outcome: applied, unchanged or failed.',
  ['outcome'],
);
