/** The kernel's notifications of memory pressure, in cgroups of this host's v1 hierarchy and of its v2 hierarchy, which needs no controllers for PSI. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { MemoryPressure, MemoryThreshold } from '../../../src/shared/contracts/stats.ts';
import { EventFd, poll, PollEvent } from '../../../src/shared/linux/poll.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import {
  MemoryPressureWatcher,
  type MemoryPressureWatcherOptions,
} from '../../../src/workers/stats/memory-pressure/memory-pressure-watcher.ts';
import { openStallTrigger } from '../../../src/workers/stats/memory-pressure/stall-trigger.ts';
import { UsageNotifier } from '../../../src/workers/stats/memory-pressure/usage-notifier.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

const limited = `/sys/fs/cgroup/memory/memory-pressure-${process.pid}`;
const measured = `/sys/fs/cgroup/unified/memory-pressure-${process.pid}`;
const Mi = 2 ** 20;
/** Longer than any test: what ends before it was woken. */
const pollTimeoutMs = 600_000;
const noStalls = () => {
  throw new Error('no PSI here');
};

function aWatcher(options: Partial<MemoryPressureWatcherOptions>) {
  const { logger, lines } = aLogger();
  const sources: MemoryPressure['source'][] = [];
  let onReport: (() => void) | undefined;
  const watcher = MemoryPressureWatcher.start({
    onPressure: (source) => {
      sources.push(source);
      onReport?.();
    },
    openStallTrigger: noStalls,
    clock: systemClock,
    logger,
    startDelayMs: 0,
    pollTimeoutMs,
    ...options,
  });
  after(() => watcher.close());
  const next = (count = 1) =>
    new Promise<void>((resolve) => {
      onReport = () => void (sources.length >= count && resolve());
      onReport();
    });
  return { watcher, sources, lines, next };
}

/** Runs a shell command in cgroups. Resolves when it has ended, also when the kernel ended it. */
function runInCgroups(command: string, cgroups = [limited, measured]): Promise<void> {
  const enter = cgroups.map((cgroup) => `echo $$ > ${cgroup}/cgroup.procs`).join(' && ');
  const child = spawn('sh', ['-c', `${enter} && ${command}`], { stdio: 'ignore' });
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

function aUsageNotifier(thresholds: readonly MemoryThreshold[], directories = { node: limited, pods: limited }) {
  const { logger, lines } = aLogger();
  return {
    usage: new UsageNotifier({ thresholds: () => thresholds, directories: () => directories, machineMemoryBytes: () => 200 * Mi, logger }),
    lines,
  };
}

describe('notifications of memory pressure', { timeout: 120_000 }, () => {
  for (const cgroup of [limited, measured]) mkdirSync(cgroup);
  writeFileSync(join(limited, 'memory.limit_in_bytes'), String(200 * Mi));
  after(() => {
    for (const cgroup of [limited, measured]) rmdirSync(cgroup);
  });

  for (const scope of ['node', 'pods'] as const) {
    test(`arrive when the usage of the cgroup of the scope ${scope} crosses an eviction threshold`, async () => {
      const { usage } = aUsageNotifier([{ scope, available: { bytes: 100 * Mi } }]);
      const { sources, next } = aWatcher({ usage });
      await runInCgroups('dd if=/dev/zero of=/dev/null bs=20M count=1');
      assert.deepEqual(sources, []);
      await runInCgroups('dd if=/dev/zero of=/dev/null bs=150M count=1');
      await next();
      assert.equal(sources[0], 'usage');
    });
  }

  test('arrive when tasks wait for memory', async () => {
    const { sources, next } = aWatcher({ openStallTrigger: () => openStallTrigger(join(measured, 'memory.pressure')) });
    const file = join('/var/tmp', `memory-pressure-${process.pid}`);
    const end = new AbortController();
    // A file that is larger than the limit is read again and again: each page is evicted before its next use.
    const stalls = (async () => {
      writeFileSync(join(limited, 'memory.limit_in_bytes'), String(20 * Mi));
      await runInCgroups(`dd if=/dev/zero of=${file} bs=1M count=60`);
      while (!end.signal.aborted) await runInCgroups(`cat ${file}`);
    })();
    await next();
    end.abort();
    await stalls;
    await runInCgroups(`rm ${file}`);
    writeFileSync(join(limited, 'memory.limit_in_bytes'), String(200 * Mi));
    assert.equal(sources[0], 'stall');
  });

  test('are one a second at most, and none is lost', async () => {
    const event = new EventFd();
    const clock = new FakeClock();
    const { watcher, sources, next } = aWatcher({ usage: { event, refresh: () => {}, close: () => event.close() }, clock });
    // The watcher begins after its start delay.
    await clock.advance(0);
    event.notify();
    await next();
    event.notify();
    event.notify();
    await clock.advance(999);
    assert.deepEqual(sources, ['usage']);
    const second = next(2);
    await clock.advance(1);
    await second;
    await clock.advance(999);
    assert.deepEqual(sources, ['usage', 'usage']);
    // Ends although the clock stands still and the poll has minutes left.
    await clock.advance(1);
    await watcher.close();
  });

  test('are not awaited on a host that has none, which is logged', async () => {
    const clock = new FakeClock();
    const { lines } = aWatcher({ clock });
    await clock.advance(0);
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['The kernel does not report stalls for lack of memory (PSI)'],
    );
  });

  test('that cannot be registered are logged once', () => {
    const folder = mkdtempSync(join(tmpdir(), 'no-cgroup-'));
    after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'memory.stat'), 'total_inactive_file 0\n');
    const { usage, lines } = aUsageNotifier([{ scope: 'node', available: { bytes: 100 * Mi } }], { node: folder, pods: folder });
    usage.refresh();
    usage.refresh();
    usage.close();
    assert.equal(lines.length, 1);
  });

  test('of a cgroup that appears later arrive', async () => {
    const later = join(limited, 'later');
    const { usage } = aUsageNotifier([{ scope: 'pods', available: { bytes: 100 * Mi } }], { node: limited, pods: later });
    after(() => usage.close());
    usage.refresh();
    mkdirSync(later);
    writeFileSync(join(later, 'memory.limit_in_bytes'), String(150 * Mi));
    usage.refresh();
    const { event } = usage;
    assert.ok(event);
    const crossed = poll([{ fd: event.fd, events: PollEvent.readable }], pollTimeoutMs);
    const allocated = runInCgroups('dd if=/dev/zero of=/dev/null bs=80M count=1', [later]);
    assert.deepEqual(await crossed, [PollEvent.readable]);
    await allocated;
    rmdirSync(later);
  });
});

test('a trigger that the kernel refuses leaves no descriptor', () => {
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  assert.throws(() => openStallTrigger('/dev/full'), { code: 'ENOSPC' });
  assert.equal(descriptors(), before);
});
