/**
 * Decides which connection a server ends when it has too many. Pure. A new connection is never refused. An older one is ended instead:
 * the one that was cheapest for its client to open and keep. A client with credentials can therefore always connect, however many
 * unauthorized connections there are.
 */
export interface ConnectionLimits {
  /** Maximum number of unauthorized connections: those without an authorized request. */
  readonly unauthorized: number;
  /** Maximum number of unauthorized connections per client address. Exceeding this limit never refuses a connection, because many clients may share an address. */
  readonly unauthorizedPerAddress: number;
  /** Maximum number of connections with an authorized request. */
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

/** A connection that entered its state within this time may be about to send a request, or about to be authorized. */
const recentMs = 1_000;
const ranks: Readonly<Record<ConnectionState, number>> = { idle: 0, handshaking: 1, busy: 2 };
const recentRank = 3;

/** Returns the connection to end after `added`, which is one of `connections`, was accepted. Null when no limit is exceeded. */
export function computeEviction<T extends ServerConnection>(
  connections: readonly T[],
  added: T,
  limits: ConnectionLimits,
  nowMs: number,
): T | null {
  const unauthorized = connections.filter(({ isAuthorized }) => !isAuthorized);
  const ofSameAddress = unauthorized.filter(({ address }) => address === added.address);
  if (ofSameAddress.length > limits.unauthorizedPerAddress) return findCheapest(ofSameAddress, added, nowMs);
  if (unauthorized.length > limits.unauthorized) return findCheapest(ofLargestAddress(unauthorized), added, nowMs);
  return null;
}

/** Returns the idle authorized connection to end for a new authorized one. Null when all of them are in use. */
export function computeAuthorizedEviction<T extends ServerConnection>(connections: readonly T[], nowMs: number): T | null {
  const idleConnections = connections.filter(({ isAuthorized, state }) => isAuthorized && state === 'idle');
  return findCheapest(idleConnections, null, nowMs);
}

/**
 * Prefers idle connections, then handshaking ones, then busy ones; within a state, the one that entered the state first. Connections
 * that entered their state recently come last.
 */
function findCheapest<T extends ServerConnection>(candidates: readonly T[], excluded: T | null, nowMs: number): T | null {
  const rank = ({ state, stateSinceMs }: T) => (nowMs - stateSinceMs < recentMs ? recentRank : ranks[state]);
  let cheapest: T | null = null;
  for (const candidate of candidates) {
    if (candidate === excluded) continue;
    if (cheapest === null || rank(candidate) - rank(cheapest) < 0) cheapest = candidate;
    else if (rank(candidate) === rank(cheapest) && candidate.stateSinceMs < cheapest.stateSinceMs) cheapest = candidate;
  }
  return cheapest;
}

function ofLargestAddress<T extends ServerConnection>(connections: readonly T[]): readonly T[] {
  const byAddress = Map.groupBy(connections, ({ address }) => address);
  return [...byAddress.values()].reduce((largest, group) => (group.length > largest.length ? group : largest));
}

/** Returns the address that limits count by. For IPv6 this is the /64 network, because one host can own all of it. */
export function addressKey(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const headGroups = head === '' ? [] : head.split(':');
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - headGroups.length - tailGroups.length)).fill('0');
  return `${[...headGroups, ...zeros, ...tailGroups].slice(0, 4).join(':')}::/64`;
}
