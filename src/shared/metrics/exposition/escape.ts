/** Escapes of Prometheus' text format. */
export function escapeHelp(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

export function escapeLabel(value: string): string {
  return /[\\\n"]/.test(value) ? escapeHelp(value).replaceAll('"', '\\"') : value;
}
