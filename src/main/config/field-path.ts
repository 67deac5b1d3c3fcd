/** Collects the problems of a configuration, each with its field path (upstream: field.Path and field.ErrorList). */

export interface FieldProblem {
  /** Field names, map keys and list indexes, from the root down. */
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

  /** Records a problem at this path. */
  addProblem(message: string): void {
    this.#problems.push({ path: this.path, message });
  }
}

/** For example `shutdownGracePeriodByPodPriority[0].priority`. */
export function formatFieldPath(path: readonly (string | number)[]): string {
  return path.map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${key}`)).join('');
}

/** Describes a value for a message, on one line and shortened. */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
