/** Where in a configuration a value stands, and what is wrong there: every problem is named with its path, all of them at once. */

export interface FieldProblem {
  /** From the root down: field names, keys and list indexes. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export class FieldPath {
  readonly path: readonly (string | number)[];
  readonly #problems: FieldProblem[];

  constructor(problems: FieldProblem[], path: readonly (string | number)[] = []) {
    this.#problems = problems;
    this.path = path;
  }

  child(key: string | number): FieldPath {
    return new FieldPath(this.#problems, [...this.path, key]);
  }

  /** Notes what is wrong here. */
  addProblem(message: string): void {
    this.#problems.push({ path: this.path, message });
  }
}

/** `shutdownGracePeriodByPodPriority[0].priority` */
export function formatFieldPath(path: readonly (string | number)[]): string {
  return path.map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${key}`)).join('');
}

/** A value as a person would recognise it in their file, on one line and not too long. */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
