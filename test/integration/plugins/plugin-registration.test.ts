/** Plugins register, are replaced, and go, with sockets that are stale, late, or of another type. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import { PluginManager } from '../../../src/main/plugins/index.ts';
import { CsiRegistration } from '../../../src/main/volumes/index.ts';
import { systemClock as clock } from '../../../src/shared/time/clock.ts';
import { getInfo, notifyRegistrationStatus } from '../../../src/workers/plugins/registration/plugin-registration.ts';
import { TestCsiDriver } from '../../support/csi-driver/test-csi-driver.ts';
import { silentLogger as logger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const name = 'test.csi.example';
let folder: string;
let manager: PluginManager;
/** The calls that the volumes thread and the CSINode writer got. */
let received: string[];
let infoFailures: number;
let drivers: TestCsiDriver[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kn-plugins-'));
  received = [];
  drivers = [];
  infoFailures = 0;
});
afterEach(async () => {
  await manager.close();
  for (const driver of drivers) await driver.stop();
  rmSync(folder, { recursive: true });
});

function startManager(): void {
  const csi = new CsiRegistration({
    thread: {
      setDriver: async (_, endpoint) => {
        received.push(`set ${endpoint.slice(folder.length + 1)}`);
        if ((infoFailures -= 1) >= 0) return { outcome: 'failed', message: 'rpc error: code = Internal desc = not ready' };
        return { outcome: 'info', info: { nodeID: 'n1', maxVolumesPerNode: 0, topology: {} } };
      },
      removeDriver: async () => void received.push('remove'),
    },
    csiNode: { install: async () => void received.push('install'), uninstall: async () => void received.push('uninstall') },
    onRegistered: () => {},
    logger,
  });
  const calls = { getInfo, notifyRegistrationStatus };
  manager = new PluginManager({ folder: join(folder, 'registry'), handlers: new Map([['CSIPlugin', csi]]), calls, clock, logger });
}

async function startDriver(
  id: string,
  options: { readonly versions?: readonly string[]; readonly socket?: string } = {},
): Promise<TestCsiDriver> {
  const driver = new TestCsiDriver({
    name,
    nodeID: 'n1',
    socket: join(folder, `${id}.sock`),
    registrationSocket: join(folder, 'registry', options.socket ?? `${id}-reg.sock`),
    stateDir: join(folder, `state-${id}`),
    ...(options.versions && { versions: options.versions }),
  });
  drivers.push(driver);
  await driver.start();
  return driver;
}
const notifications = (driver: TestCsiDriver) =>
  driver.journal().map(({ request }) => request as { pluginRegistered: boolean; error: string });
const untilTold = (want: readonly string[]) =>
  waitUntil(`received ${want.join()}, was ${received.join()}`, () => received.join() === want.join());

test('a driver registers, also in a folder, and its removal removes it without a call', async () => {
  startManager();
  const driver = await startDriver('a', { socket: 'deep/a.sock' });
  await untilTold(['set a.sock', 'install']);
  await waitUntil('the driver is notified', () => notifications(driver).length === 1);
  assert.deepEqual(notifications(driver), [{ pluginRegistered: true, error: '' }]);
  await driver.stop();
  await untilTold(['set a.sock', 'install', 'remove', 'uninstall']);
});

test('a driver that is there at the start, and is replaced at the same path, is registered again', async () => {
  await startDriver('a');
  startManager();
  await untilTold(['set a.sock', 'install']);
  await startDriver('b', { socket: 'b.tmp' }).catch(() => {});
  received.length = 0;
  renameSync(join(folder, 'registry/b.tmp'), join(folder, 'registry/a-reg.sock'));
  await waitUntil('the new instance has the calls', () => received.at(-2) === 'set b.sock' && received.at(-1) === 'install');
});

test('another driver of the name is refused with an equal version, and registers when the first one goes', async () => {
  startManager();
  const first = await startDriver('a');
  await untilTold(['set a.sock', 'install']);
  const second = await startDriver('b');
  await waitUntil('it is refused', () => notifications(second).length === 1);
  assert.match(
    notifications(second)[0]?.error ?? '',
    /Another driver with the same name is already registered with a higher supported version: "1\.0\.0"/,
  );
  await first.stop();
  await untilTold(['set a.sock', 'install', 'remove', 'uninstall', 'set b.sock', 'install']);
});

test('another driver of the name with a higher version replaces it, and the end of the first one changes nothing', async () => {
  startManager();
  const first = await startDriver('a');
  await untilTold(['set a.sock', 'install']);
  await startDriver('b', { versions: ['1.1.0'] });
  await untilTold(['set a.sock', 'install', 'set b.sock', 'install']);
  await first.stop();
  await startDriver('c', { versions: ['1.2.0'] });
  await untilTold(['set a.sock', 'install', 'set b.sock', 'install', 'set c.sock', 'install']);
});

test('a stale socket is replaced, and a driver that is not ready is received why, and registers within seconds', async () => {
  mkdirSync(join(folder, 'registry'));
  const stale = createServer().listen(join(folder, 'stale.sock'));
  await once(stale, 'listening');
  renameSync(join(folder, 'stale.sock'), join(folder, 'registry/a-reg.sock'));
  symlinkSync('/run/other.sock', join(folder, 'registry/link.sock'));
  stale.close();
  infoFailures = 2;
  startManager();
  const driver = await startDriver('a');
  await untilTold(['set a.sock', 'set a.sock', 'set a.sock', 'install']);
  await waitUntil('the driver is notified', () => notifications(driver).length === 3);
  assert.match(notifications(driver)[0]?.error ?? '', /plugin registration failed with err: rpc error: code = Internal desc = not ready$/);
  assert.deepEqual(
    notifications(driver).map(({ pluginRegistered }) => pluginRegistered),
    [false, false, true],
  );
});
