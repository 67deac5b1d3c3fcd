/** Formats times as the API's `metav1.Time`: RFC 3339, whole seconds, UTC. */
export function toApiTime(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** For a field that is omitted when the runtime reports no time (0). */
export function toOptionalApiTime(ms: number): string | undefined {
  return ms > 0 ? toApiTime(ms) : undefined;
}
