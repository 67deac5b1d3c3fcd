/**
 * Reads the header Accept-Encoding (RFC 9110, 12.5.3). Pure. `*` stands for every coding that the header does not name. Without an entry, the reply
 * as it is (`identity`) is accepted, but not preferred.
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const weights = new Map<string, number>();
  for (const item of (acceptEncoding ?? '').split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = weightOf(parameters);
    // An entry with a malformed weight does not count.
    if (coding !== '' && weight !== null) weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight);
  }
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0;
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0);
}

/** Null when malformed. */
function weightOf(parameters: readonly string[]): number | null {
  const [parameter] = parameters;
  if (parameter === undefined) return 1;
  const value = /^q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameter)?.[1];
  return value === undefined ? null : Number(value);
}
