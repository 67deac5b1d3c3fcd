/**
 * What a reflector does next, as a pure machine (upstream: client-go tools/cache Reflector).
 *
 *   stream ──initial events ended──▶ watch ──closed, failed──▶ watch again from the last resource version
 *     │ ▲                            │ ▲ │
 *     │ └──── expired, went back ────┘ │ └──unreachable──▶ probe ──▶ watch, or stream where the server went back
 *   refused                            │
 *     └──▶ list ───────listed──────────┘
 *
 *  - Whatever is taken whole (stream, list) is read at the most recent version, so that it never shows a past in which a deleted pod
 *    is there again, and never asks a new cluster for a version that only the old one had.
 *  - A server whose versions went back (its etcd was emptied) takes a watch from our version and is silent until it has caught up.
 *    Its bookmarks tell, after a minute; the probe tells when the server was away, which is when that happens.
 *  - Watching is resumed where it ended, so nothing is lost; after three failures at one place everything is taken afresh, since what is
 *    there may be what can't be read.
 */
import { ApiError, isExpired } from './api-client.ts';
import { isOlder } from './resource-version.ts';

export interface ReflectorState {
  readonly step: 'stream' | 'list' | 'probe' | 'watch';
  /** The last that was seen; empty before the first sync. */
  readonly resourceVersion: string;
  /** Watches in a row that failed without a line. */
  readonly fruitless: number;
  /** Everything was taken afresh, and no line has come since: doing it again at once would be a loop. */
  readonly isFresh: boolean;
}

export type ReflectorEvent =
  /** A line of the watch, or a bookmark. */
  | { readonly type: 'seen'; readonly resourceVersion: string }
  /** All objects are known, at this version. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** The server ended the watch. `isEmpty`: at once, without a line. */
  | { readonly type: 'closed'; readonly isEmpty: boolean }
  /** The initial events did not end, and nothing came for too long: a server that does not know how to send them. */
  | { readonly type: 'silent' }
  /** The server's version now is older than ours. */
  | { readonly type: 'wentBack' }
  /** The answer to the probe. */
  | { readonly type: 'probed'; readonly resourceVersion: string }
  | { readonly type: 'failed'; readonly failure: ReflectorFailure };

/** `refused`: this request is not one that the server takes. `broken`: the server or its answer is at fault. */
export type ReflectorFailure = 'expired' | 'unreachable' | 'throttled' | 'refused' | 'broken';

export interface Transition {
  readonly state: ReflectorState;
  readonly wait: 'no' | 'backOff';
}

export const initialState: ReflectorState = { step: 'stream', resourceVersion: '', fruitless: 0, isFresh: false };

/** After so many fruitless watches in a row everything is taken afresh. */
const maxFruitless = 3;

export function advance(state: ReflectorState, event: ReflectorEvent): Transition {
  switch (event.type) {
    case 'seen': {
      const { resourceVersion } = event;
      return { state: { ...state, resourceVersion, fruitless: 0, isFresh: false }, wait: 'no' };
    }
    case 'synced':
      return { state: { ...state, step: 'watch', resourceVersion: event.resourceVersion, fruitless: 0 }, wait: 'no' };
    case 'closed':
      if (state.step === 'stream') return { state: { ...state, step: 'list' }, wait: 'backOff' };
      return { state, wait: event.isEmpty ? 'backOff' : 'no' };
    case 'silent':
      return { state: { ...state, step: 'list' }, wait: 'no' };
    case 'wentBack':
      return afresh(state);
    case 'probed':
      return isOlder(event.resourceVersion, state.resourceVersion) ? afresh(state) : { state: { ...state, step: 'watch' }, wait: 'no' };
    case 'failed':
      return afterFailure(state, event.failure);
    default:
      return event satisfies never;
  }
}

function afterFailure(state: ReflectorState, failure: ReflectorFailure): Transition {
  const backOffTo = (step: ReflectorState['step']): Transition => ({ state: { ...state, step }, wait: 'backOff' });
  switch (state.step) {
    case 'stream':
      if (failure === 'refused') return { state: { ...state, step: 'list' }, wait: 'no' };
      return backOffTo(failure === 'unreachable' || failure === 'throttled' ? 'stream' : 'list');
    case 'list':
      return backOffTo('stream');
    case 'probe':
      // A server that does not answer this question may still answer the one that counts.
      return failure === 'refused' || failure === 'expired' ? { state: { ...state, step: 'watch' }, wait: 'no' } : backOffTo('probe');
    case 'watch': {
      if (failure === 'expired') return afresh(state);
      if (failure === 'throttled') return backOffTo('watch');
      if (failure === 'unreachable') return backOffTo('probe');
      const fruitless = state.fruitless + 1;
      if (fruitless < maxFruitless) return { state: { ...state, fruitless }, wait: 'backOff' };
      return { state: { ...state, step: 'stream', fruitless: 0 }, wait: 'backOff' };
    }
    default:
      return state.step satisfies never;
  }
}

function afresh(state: ReflectorState): Transition {
  return { state: { ...state, step: 'stream', fruitless: 0, isFresh: true }, wait: state.isFresh ? 'backOff' : 'no' };
}

export function failureOf(err: unknown): ReflectorFailure {
  if (isExpired(err)) return 'expired';
  if (!(err instanceof ApiError)) return 'broken';
  if (err.code === 429) return 'throttled';
  if (err.code === 0) return err.reason === 'Unreachable' || err.reason === 'Timeout' ? 'unreachable' : 'broken';
  return err.code >= 400 && err.code < 500 ? 'refused' : 'broken';
}
