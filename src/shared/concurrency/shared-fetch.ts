/**
 * One request for all who ask before it begins: a hundred pods that come together are a hundred questions. Who asks while one is under way
 * shares the next, since the answer to that one may be older than the question.
 */
export class SharedFetch<T> {
  readonly #fetch: () => Promise<T>;
  /** It has not begun. */
  #next: Promise<T> | null = null;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(fetch: () => Promise<T>) {
    this.#fetch = fetch;
  }

  get(): Promise<T> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<T> {
    await this.#underWay;
    this.#next = null;
    const answer = this.#fetch();
    this.#underWay = answer.catch(() => {});
    return answer;
  }
}
