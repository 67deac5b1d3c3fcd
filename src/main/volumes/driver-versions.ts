/** The versions with which CSI drivers register (upstream k8s.io/apimachinery/pkg/util/version HighestSupportedVersion). Pure. */

export interface DriverVersion {
  /** As the driver wrote it. */
  readonly text: string;
  readonly parts: readonly number[];
}

/** Returns the highest version with major 1, or null. */
export function highestSupportedVersion(versions: readonly string[]): DriverVersion | null {
  const supported = versions.flatMap((text) => parse(text) ?? []).filter(({ parts: [major] }) => major === 1);
  return supported.toSorted(compare).at(-1) ?? null;
}

export function isLower(a: DriverVersion, b: DriverVersion): boolean {
  return compare(a, b) < 0;
}

function parse(text: string): DriverVersion | undefined {
  const match = /^v?(\d{1,9}(?:\.\d{1,9}){1,3})$/.exec(text.trim());
  return match?.[1] === undefined ? undefined : { text, parts: match[1].split('.').map(Number) };
}

function compare({ parts: a }: DriverVersion, { parts: b }: DriverVersion): number {
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) - (b[i] ?? 0);
  return 0;
}
