/** One call for all who ask for the same while it is under way, its failure too. What has ended is called anew. */
export class SingleFlight<Key, Answer> {
  readonly #underWay = new Map<Key, Promise<Answer>>();

  run(key: Key, call: () => Promise<Answer>): Promise<Answer> {
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    const answer = Promise.try(call).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, answer);
    return answer;
  }
}
