/**
 * Which connection ends when a server holds too many. Pure. A new connection is never refused: an old one ends instead, one that cost
 * its client the least to make and keep. So a client with credentials gets in, however many connections without them are held.
 */
export interface ConnectionLimits {
  /** Connections without an admitted request, in total. */
  readonly unauthorized: number;
  /** The same of one address. It only decides whose connection ends, since many clients may share an address. */
  readonly unauthorizedPerAddress: number;
  /** Connections with an admitted request. */
  readonly authorized: number;
}

/** `busy`: at least one request waits for its response. */
export type ConnectionState = 'handshaking' | 'idle' | 'busy';

export interface ServerConnection {
  readonly address: string;
  readonly isAuthorized: boolean;
  readonly state: ConnectionState;
  readonly stateSinceMs: number;
}

/** A connection that entered its state later than this may be about to send a request, or to be admitted. */
const youngMs = 1_000;
const ranks: Readonly<Record<ConnectionState, number>> = { idle: 0, handshaking: 1, busy: 2 };
const youngRank = 3;

/** The connection that ends because `newcomer`, which is one of `held`, has come; null: there is room for both. */
export function computeEviction<T extends ServerConnection>(
  held: readonly T[],
  newcomer: T,
  limits: ConnectionLimits,
  nowMs: number,
): T | null {
  const strangers = held.filter(({ isAuthorized: isAdmitted }) => !isAdmitted);
  const neighbours = strangers.filter(({ address }) => address === newcomer.address);
  if (neighbours.length > limits.unauthorizedPerAddress) return cheapest(neighbours, newcomer, nowMs);
  if (strangers.length > limits.unauthorized) return cheapest(ofLargestAddress(strangers), newcomer, nowMs);
  return null;
}

/** The connection that ends because there is one more admitted connection; null: every one of them is in use. */
export function computeAdmittedEviction<T extends ServerConnection>(held: readonly T[], nowMs: number): T | null {
  const idle = held.filter(({ isAuthorized: isAdmitted, state }) => isAdmitted && state === 'idle');
  return cheapest(idle, null, nowMs);
}

/**
 * Idle ones first, then handshakes, then those with a request under way; of each kind the one that has been so for longest. Young ones
 * come last, whatever they do.
 */
function cheapest<T extends ServerConnection>(candidates: readonly T[], newcomer: T | null, nowMs: number): T | null {
  const rank = ({ state, stateSinceMs }: T) => (nowMs - stateSinceMs < youngMs ? youngRank : ranks[state]);
  let found: T | null = null;
  for (const candidate of candidates) {
    if (candidate === newcomer) continue;
    if (found === null || rank(candidate) - rank(found) < 0) found = candidate;
    else if (rank(candidate) === rank(found) && candidate.stateSinceMs < found.stateSinceMs) found = candidate;
  }
  return found;
}

function ofLargestAddress<T extends ServerConnection>(strangers: readonly T[]): readonly T[] {
  const byAddress = Map.groupBy(strangers, ({ address }) => address);
  return [...byAddress.values()].reduce((largest, group) => (group.length > largest.length ? group : largest));
}

/** The address that a limit counts: of IPv6 the network of 64 bits, which one host can have whole. */
export function addressKey(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
}
