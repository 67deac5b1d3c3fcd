import { configMirrorAnnotation, configSourceAnnotation } from './annotations.ts';
import type { Pod } from './api.ts';

/** Upstream's scheduling.SystemCriticalPriority. */
const systemCriticalPriority = 2_000_000_000;

/** Static pods, mirror pods and pods with a system priority are critical (upstream: types.IsCriticalPod). */
export function isCriticalPod({ metadata: { annotations = {} }, spec }: Pod): boolean {
  const source = annotations[configSourceAnnotation];
  return (
    (source !== undefined && source !== 'api') || configMirrorAnnotation in annotations || (spec.priority ?? 0) >= systemCriticalPriority
  );
}
