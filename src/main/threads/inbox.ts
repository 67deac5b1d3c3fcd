/** Keeps the messages of a thread that started before main loaded their receiver, and passes them on when the receiver is set. */
export class Inbox<Message> {
  /** The messages that came before the receiver, or the receiver. */
  #state: Message[] | ((message: Message) => void) = [];

  post(message: Message): void {
    if (Array.isArray(this.#state)) this.#state.push(message);
    else this.#state(message);
  }

  /** Sets the only receiver, which gets the kept messages at once. Throws when there is one already. */
  setReceiver(receiver: (message: Message) => void): void {
    if (!Array.isArray(this.#state)) throw new Error('the inbox has a receiver already');
    const kept = this.#state;
    this.#state = receiver;
    for (const message of kept) receiver(message);
  }
}
