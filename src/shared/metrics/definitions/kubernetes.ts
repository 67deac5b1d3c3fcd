/** The metrics of every Kubernetes component (upstream component-base), and the kubelet's about its node. */
import { counter, gauge, total } from '../define.ts';

export const buildInfo = gauge(
  'kubernetes_build_info',
  "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
  ['major', 'minor', 'git_version', 'git_commit', 'git_tree_state', 'build_date', 'go_version', 'compiler', 'platform'],
  'BETA',
  'max',
);
export const featureEnabled = gauge(
  'kubernetes_feature_enabled',
  'This metric records the data about the stage and enablement of a k8s feature.',
  ['name', 'stage'],
  'BETA',
  'max',
);
export const registeredMetrics = total(
  'registered_metrics_total',
  'The count of registered metrics broken by stability level and deprecation version.',
  ['stability_level', 'deprecated_version'],
  'BETA',
);
/** No setting of this kubelet hides or disables a metric: these three are 0. */
export const hiddenMetrics = counter('hidden_metrics_total', 'The count of hidden metrics.', [], 'BETA');
export const disabledMetrics = counter('disabled_metrics_total', 'The count of disabled metrics.', [], 'BETA');
export const unexpectedCategorizations = counter(
  'cardinality_enforcement_unexpected_categorizations_total',
  'The count of unexpected categorizations during cardinality enforcement.',
);
export const metricsProvider = gauge(
  'kubelet_metrics_provider',
  "Metrics provider used by kubelet to collect container stats. Values can be 'cadvisor' and 'cri'",
  ['provider'],
  'ALPHA',
  'max',
);
export const nodeName = gauge('kubelet_node_name', "The node's name. The count is always 1.", ['node'], 'ALPHA', 'max');
export const cgroupVersion = gauge('kubelet_cgroup_version', 'cgroup version on the hosts.', [], 'ALPHA', 'max');
