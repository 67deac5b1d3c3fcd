/**
 * Returns whether an eviction threshold disables its signal: it evicts nothing, and reserves nothing. Other spellings of the two percentages are thresholds, as
 * upstream (parseThresholdStatement in pkg/kubelet/eviction/helpers.go).
 */
export function isNoThreshold(text: string): boolean {
  return text === '0%' || text === '100%';
}
