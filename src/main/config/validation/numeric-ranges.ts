/** Rules for numeric ranges (upstream: pkg/kubelet/apis/config/validation/validation.go). */
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { collectErrors, invalidConfiguration, type ValidationRule } from './rules.ts';

type NumberField = { [K in keyof KubeletConfiguration]: KubeletConfiguration[K] extends number ? K : never }[keyof KubeletConfiguration];
interface Range {
  readonly field: NumberField;
  /** The flag that the message names, if there is one. */
  readonly flag?: string;
  readonly min: number;
  readonly max?: number;
  /** A valid value outside the range, which turns the feature off. */
  readonly disabledValue?: number;
}

const ranges: readonly Range[] = [
  { field: 'eventBurst', flag: 'event-burst', min: 0 },
  { field: 'eventRecordQPS', flag: 'event-qps', min: 0 },
  { field: 'healthzPort', flag: 'healthz-port', min: 1, max: 65535, disabledValue: 0 },
  { field: 'imageGCHighThresholdPercent', flag: 'image-gc-high-threshold', min: 0, max: 100 },
  { field: 'imageGCLowThresholdPercent', flag: 'image-gc-low-threshold', min: 0, max: 100 },
  { field: 'iptablesDropBit', flag: 'iptables-drop-bit', min: 0, max: 31 },
  { field: 'iptablesMasqueradeBit', flag: 'iptables-masquerade-bit', min: 0, max: 31 },
  { field: 'kubeAPIBurst', flag: 'kube-api-burst', min: 0 },
  { field: 'kubeAPIQPS', flag: 'kube-api-qps', min: 0 },
  { field: 'nodeStatusMaxImages', flag: 'node-status-max-images', min: -1 },
  { field: 'maxOpenFiles', flag: 'max-open-files', min: 0 },
  { field: 'maxPods', flag: 'max-pods', min: 0 },
  { field: 'oomScoreAdj', flag: 'oom-score-adj', min: -1000, max: 1000 },
  { field: 'podsPerCore', flag: 'pods-per-core', min: 0 },
  { field: 'port', flag: 'port', min: 1, max: 65535 },
  { field: 'readOnlyPort', flag: 'read-only-port', min: 1, max: 65535, disabledValue: 0 },
  { field: 'registryBurst', flag: 'registry-burst', min: 0 },
  { field: 'registryPullQPS', flag: 'registry-qps', min: 0 },
];

function checkRange({ field, flag, min, max, disabledValue: off }: Range, config: KubeletConfiguration): string[] {
  const value = config[field];
  if (value === off || (value >= min && value <= (max ?? Infinity))) return [];
  const name = flag === undefined ? field : `${field} (--${flag})`;
  if (max !== undefined) return [invalidConfiguration(`${name} ${value} must be between ${off ?? min} and ${max}, inclusive`)];
  return [invalidConfiguration(`${name} ${value} ${min === 0 ? 'must not be a negative number' : `must be ${min} or greater`}`)];
}

export const checkNumericRanges: ValidationRule = ({ config, gates }) => [
  ...ranges.flatMap((range) => checkRange(range, config)),
  ...collectErrors(
    [config.nodeLeaseDurationSeconds <= 0, `nodeLeaseDurationSeconds must be greater than 0, got ${config.nodeLeaseDurationSeconds}`],
    [
      config.imageGCLowThresholdPercent >= config.imageGCHighThresholdPercent,
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${config.imageGCLowThresholdPercent} must be less than ` +
        `imageGCHighThresholdPercent (--image-gc-high-threshold) ${config.imageGCHighThresholdPercent}`,
    ],
    [
      config.imageMaximumGCAge !== 0 && !gates.enabled('ImageMaximumGCAge'),
      'ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge',
    ],
    [config.imageMinimumGCAge < 0, `imageMinimumGCAge ${formatDuration(config.imageMinimumGCAge)} must not be negative`],
    [config.imageMaximumGCAge < 0, `imageMaximumGCAge ${formatDuration(config.imageMaximumGCAge)} must not be negative`],
    [
      config.imageMaximumGCAge > 0 && config.imageMaximumGCAge <= config.imageMinimumGCAge,
      `imageMaximumGCAge ${formatDuration(config.imageMaximumGCAge)} must be greater than imageMinimumGCAge ${formatDuration(config.imageMinimumGCAge)}`,
    ],
    [
      config.maxParallelImagePulls !== null && config.maxParallelImagePulls < 1,
      `maxParallelImagePulls ${config.maxParallelImagePulls} must be a positive number`,
    ],
    [
      config.serializeImagePulls && config.maxParallelImagePulls !== null && config.maxParallelImagePulls > 1,
      `maxParallelImagePulls ${config.maxParallelImagePulls} cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false`,
    ],
    [config.containerLogMaxWorkers < 1, `containerLogMaxWorkers must be greater than or equal to 1, got ${config.containerLogMaxWorkers}`],
    [
      config.containerLogMonitorInterval < 3000,
      `containerLogMonitorInterval must be a positive time duration greater than or equal to 3s, got ${formatDuration(config.containerLogMonitorInterval)}`,
    ],
    [config.containerLogMaxFiles <= 1, `containerLogMaxFiles must be greater than 1, got ${config.containerLogMaxFiles}`],
    [
      config.memoryThrottlingFactor !== null && (config.memoryThrottlingFactor <= 0 || config.memoryThrottlingFactor > 1),
      `memoryThrottlingFactor ${config.memoryThrottlingFactor} must be greater than 0 and less than or equal to 1.0`,
    ],
  ),
];
