/** The samples of a metrics page. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestampMs: number | undefined;
}

/** The name is the metric's, with a suffix for the parts of a histogram. */
export type NamedSample = Sample & { readonly name: string };

/** Equal for equal labels in any order. */
export function keyOf(labels: NamedSample['labels']): string {
  return JSON.stringify(
    Object.keys(labels)
      .sort()
      .map((name) => [name, labels[name]]),
  );
}
