/**
 * Returns whether an eviction threshold disables its signal: it then evicts nothing, and reserves nothing. As upstream, other spellings of the
 * two percentages, such as `0.0%`, are thresholds (parseThresholdStatement in pkg/kubelet/eviction/helpers.go).
 */
export function isNoThreshold(text: string): boolean {
  return text === '0%' || text === '100%';
}
