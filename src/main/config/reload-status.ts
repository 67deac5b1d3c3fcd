/** What `/configz` says about the last reload, next to the configuration. Clients of upstream's format ignore the additional key. */

export interface ReloadStatus {
  /** RFC 3339. */
  readonly time: string;
  readonly outcome: 'applied' | 'unchanged' | 'failed';
  /** Absent unless the reload failed: the configuration is as before. */
  readonly error?: string;
  /** The fields whose new value takes effect with a restart. After a failed reload: those of the last successful one. */
  readonly needsRestart: readonly string[];
}
