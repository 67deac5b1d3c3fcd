/** The size limits of emptyDir volumes in memory, which a resize may change. Upstream: VolHasMemoryBackedEmptyDirSizeLimit in pkg/kubelet/allocation. */
import type { PodSpec, Volume } from './api.ts';

/** Returns undefined for a volume of another kind, or without a limit. */
export function memoryLimitOf({ emptyDir }: Volume): string | undefined {
  return emptyDir?.medium === 'Memory' ? emptyDir.sizeLimit : undefined;
}

/** Returns the limits by volume. */
export function memoryLimitsOf({ volumes = [] }: PodSpec): Map<string, string> {
  return new Map(
    volumes.flatMap((volume) => {
      const limit = memoryLimitOf(volume);
      return limit === undefined ? [] : [[volume.name, limit] as const];
    }),
  );
}
