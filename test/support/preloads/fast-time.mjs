// Preloaded into a kubelet under test (NODE_OPTIONS=--import). Monotonic time passes TIME_FACTOR times as fast in each thread, and timers fire as much
// earlier: a period of five minutes takes half a minute with 10. Deadlines are shorter as well. Only `performance` keeps real time, and with it the
// time after which a thread counts as hung: it would be less than a busy host needs.
import timers from 'node:timers';
import { syncBuiltinESMExports } from 'node:module';

const factor = Number(process.env.TIME_FACTOR ?? 1);
const { bigint } = process.hrtime;
const now = () => BigInt(Math.round(Number(bigint()) * factor));
const nanosPerSecond = 1_000_000_000n;
const hrtime = (earlier) => {
  const nanos = now() - (earlier ? BigInt(earlier[0]) * nanosPerSecond + BigInt(earlier[1]) : 0n);
  return [Number(nanos / nanosPerSecond), Number(nanos % nanosPerSecond)];
};
process.hrtime = Object.assign(hrtime, { bigint: now });

for (const name of ['setTimeout', 'setInterval']) {
  const original = globalThis[name];
  const faster = (callback, ms, ...args) => original(callback, ms === undefined ? ms : ms / factor, ...args);
  // util.promisify(setTimeout) uses its own symbol.
  Object.defineProperties(faster, Object.getOwnPropertyDescriptors(original));
  globalThis[name] = faster;
  timers[name] = faster;
}
syncBuiltinESMExports();
