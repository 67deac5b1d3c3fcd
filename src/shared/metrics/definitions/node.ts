/** The phases of the node's startup (upstream pkg/kubelet/metrics). */
import { gauge } from '../define.ts';

export const nodeStartupPreKubelet = gauge(
  'kubelet_node_startup_pre_kubelet_duration_seconds',
  'Duration in seconds of node startup before kubelet starts.',
);
export const nodeStartupPreRegistration = gauge(
  'kubelet_node_startup_pre_registration_duration_seconds',
  'Duration in seconds of node startup before registration.',
);
export const nodeStartupRegistration = gauge(
  'kubelet_node_startup_registration_duration_seconds',
  'Duration in seconds of node startup during registration.',
);
export const nodeStartupPostRegistration = gauge(
  'kubelet_node_startup_post_registration_duration_seconds',
  'Duration in seconds of node startup after registration.',
);
export const nodeStartup = gauge('kubelet_node_startup_duration_seconds', 'Duration in seconds of node startup in total.');
