/** A thread's heartbeat: each second it says that it lives, and how late it was to say so. */
import { systemClock, type Clock } from '../time/clock.ts';
import { HeartbeatWriter } from './heartbeats.ts';

const beatPeriodMs = 1000;

export interface Heartbeat {
  /** The thread's own loop came round: what `/healthz` watches beside the beat. */
  loop(): void;
  stop(): void;
}

export interface HeartbeatOptions {
  readonly heartbeats: SharedArrayBuffer;
  readonly heartbeatRow: number;
  readonly clock?: Clock;
  /** Told of each beat's delay in seconds: for the thread's metric. */
  readonly onBeat?: (eventLoopDelaySeconds: number) => void;
}

/** Beats at once, then each second until stopped. */
export function startHeartbeat({ heartbeats, heartbeatRow, clock = systemClock, onBeat }: HeartbeatOptions): Heartbeat {
  const writer = new HeartbeatWriter(heartbeats, heartbeatRow);
  let stopped = false;
  let cancel: () => void = () => {};
  const beat = (dueAtMs: number) => {
    if (stopped) return;
    const now = clock.monotonic();
    const delayMs = Math.max(0, now - dueAtMs);
    writer.beat(now, delayMs);
    onBeat?.(delayMs / 1000);
    const next = now + beatPeriodMs;
    cancel = clock.after(beatPeriodMs, () => beat(next));
  };
  beat(clock.monotonic());
  return {
    loop: () => writer.loop(clock.monotonic()),
    stop: () => {
      stopped = true;
      cancel();
    },
  };
}
