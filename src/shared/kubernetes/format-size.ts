/** Formats bytes for the message of FreeDiskSpaceFailed: `512 B`, `9.8 GiB` (upstream formatSize). Pure. */
const units = ['KiB', 'MiB', 'GiB', 'TiB'];

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${Math.trunc(bytes)} B`;
  const exponent = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** exponent).toFixed(1)} ${units[exponent - 1]}`;
}
