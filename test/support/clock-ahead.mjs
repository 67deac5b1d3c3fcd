// Loaded into a kubelet under test (NODE_OPTIONS=--import): its wall clock is ahead of the host's by CLOCK_AHEAD_MS, as on a host whose
// time is wrong. Timers and the monotonic clock go on as they are.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
const { now } = Date;
Date.now = () => now() + aheadMs;
